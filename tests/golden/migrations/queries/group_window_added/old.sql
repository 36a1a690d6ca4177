-- of windows of GROUP BY sums moved, one added
-- key: 2
CREATE TABLE src (id BIGINT, k AS MOD(id,3), k2 AS MOD(id,5), v AS id*10, maybe AS CASE WHEN MOD(id,4)=0 THEN CAST(NULL AS INT) ELSE CAST(MOD(id,100) AS INT) END, arr AS ARRAY[id, MOD(id,11)], m AS MAP['id', id, 'k', MOD(id,3)], r AS ROW(id, 'text ' || CAST(id AS STRING)), price AS CAST(id AS DECIMAL(30,2)), pt AS PROCTIME(), ts AS TO_TIMESTAMP(FROM_UNIXTIME(id / 10 + id / 20 * 5)), WATERMARK FOR ts AS ts)
 WITH ('connector'='datagen','rows-per-second'='100','fields.id.kind'='sequence','fields.id.start'='1','fields.id.end'='400');
CREATE TABLE o (k BIGINT, w STRING, c0 BIGINT, c1 BIGINT) WITH ('connector'='print');
INSERT INTO o SELECT k, CAST(TUMBLE_START(ts, INTERVAL '10' SECOND) AS STRING) AS w, COUNT(*), SUM(v) FROM src GROUP BY k, TUMBLE(ts, INTERVAL '10' SECOND);
