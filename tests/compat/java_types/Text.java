package places;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.*;
import org.apache.flink.api.java.tuple.Tuple;
import org.apache.flink.types.Either;
import org.apache.flink.types.Row;

/** Values as JSON, whatever they consist of: objects by their fields, numbers without their type. */
final class Text {
    private Text() {}

    static String of(Object value) {
        if (value == null) return "null";
        if (value instanceof Double || value instanceof Float) {
            double number = ((Number) value).doubleValue();
            return number == Math.rint(number) ? String.valueOf((long) number) : String.valueOf(number);
        }
        if (value instanceof Boolean || value instanceof Byte || value instanceof Short || value instanceof Integer
                || value instanceof Long) return String.valueOf(value);
        if (value instanceof Enum) return quoted(((Enum<?>) value).name());
        if (value instanceof Optional) return "{\"optional\":" + of(((Optional<?>) value).orElse(null)) + "}";
        if (value instanceof Either) {
            Either<?, ?> either = (Either<?, ?>) value;
            return either.isLeft() ? "{\"left\":" + of(either.left()) + "}" : "{\"right\":" + of(either.right()) + "}";
        }
        if (value instanceof Map) {
            List<String> entries = new ArrayList<>();
            ((Map<?, ?>) value).forEach((key, each) -> entries.add("[" + of(key) + "," + of(each) + "]"));
            return sorted(entries);
        }
        if (value instanceof Collection) {
            List<String> elements = new ArrayList<>();
            ((Collection<?>) value).forEach(each -> elements.add(of(each)));
            return value instanceof Set ? sorted(elements) : listed(elements);
        }
        if (value.getClass().isArray()) {
            List<String> elements = new ArrayList<>();
            for (int at = 0; at < Array.getLength(value); at++) elements.add(of(Array.get(value, at)));
            return listed(elements);
        }
        if (value instanceof Row) {
            Row row = (Row) value;
            Set<String> names = row.getFieldNames(true);
            List<String> fields = new ArrayList<>();
            if (names == null) for (int at = 0; at < row.getArity(); at++) fields.add(of(row.getField(at)));
            else names.forEach(name -> fields.add(quoted(name) + ":" + of(row.getField(name))));
            return names == null ? listed(fields) : "{" + String.join(",", fields) + "}";
        }
        if (value.getClass().getName().startsWith("java.") || value.getClass().getName().startsWith("org.apache."))
            return value instanceof Tuple ? fields(value) : quoted(value.toString());
        return fields(value);
    }

    private static String fields(Object value) {
        List<String> fields = new ArrayList<>();
        for (Class<?> each = value.getClass(); each != null && each != Object.class && each != Tuple.class; each = each.getSuperclass())
            for (Field field : each.getDeclaredFields()) {
                if (Modifier.isStatic(field.getModifiers()) || Modifier.isTransient(field.getModifiers()) || field.isSynthetic()) continue;
                try {
                    field.setAccessible(true);
                    fields.add(quoted(field.getName()) + ":" + of(field.get(value)));
                } catch (IllegalAccessException error) {
                    throw new IllegalStateException(error);
                }
            }
        Collections.sort(fields);
        return "{" + String.join(",", fields) + "}";
    }

    private static String sorted(List<String> texts) {
        Collections.sort(texts);
        return listed(texts);
    }

    private static String listed(List<String> texts) {
        return "[" + String.join(",", texts) + "]";
    }

    private static String quoted(String text) {
        return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", " ").replace("\u0000", "0") + "\"";
    }
}
