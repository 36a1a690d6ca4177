package org.apache.flink.streaming.util.typeutils;

import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.types.Row;

/** What a Scala API brings for Flink to get at a field. */
public class DefaultScalaProductFieldAccessorFactory implements ScalaProductFieldAccessorFactory {
    @Override
    @SuppressWarnings("unchecked")
    public <T, F> FieldAccessor<T, F> createSimpleProductFieldAccessor(
            int position, TypeInformation<T> type, ExecutionConfig config) {
        return (FieldAccessor<T, F>) new OfRow();
    }

    @Override
    @SuppressWarnings("unchecked")
    public <T, R, F> FieldAccessor<T, F> createRecursiveProductFieldAccessor(
            int position, TypeInformation<T> type, FieldAccessor<R, F> inner,
            ExecutionConfig config) {
        return (FieldAccessor<T, F>) new OfRow();
    }

    static class OfRow extends FieldAccessor<Row, Object> {
        OfRow() {
            fieldType = (TypeInformation) Types.LONG;
        }

        @Override
        public Object get(Row row) {
            return row.getField(0);
        }

        @Override
        public Row set(Row row, Object value) {
            row.setField(0, value);
            return row;
        }
    }
}
