-- aggregates over all rows so far behind which the last row is kept, in another order
-- key: 1
CREATE TABLE src (id BIGINT, k AS MOD(id,3), k2 AS MOD(id,5), v AS id*10, v2 AS id*1000, name AS 'name number ' || CAST(MOD(id,7) AS STRING), price AS CAST(id AS DECIMAL(30,2)), ts AS TO_TIMESTAMP_LTZ(id*100,3), WATERMARK FOR ts AS ts)
 WITH ('connector'='datagen','rows-per-second'='100','fields.id.kind'='sequence','fields.id.start'='1','fields.id.end'='400');
CREATE TABLE o (k BIGINT, a BIGINT, b BIGINT) WITH ('connector'='print');
INSERT INTO o SELECT k, a, b FROM (SELECT k, a, b, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS rn FROM (SELECT k, ts, SUM(v) OVER w AS a, MIN(v2) OVER w AS b FROM src WINDOW w AS (PARTITION BY k ORDER BY ts))) WHERE rn = 1;
