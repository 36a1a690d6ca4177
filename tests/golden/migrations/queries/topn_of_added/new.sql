-- a top-2 behind sums one of which is added
-- key: 1
CREATE TABLE src (id BIGINT, k AS MOD(id,3), k2 AS MOD(id,5), v AS id*10, v2 AS id*1000, name AS 'name number ' || CAST(MOD(id,7) AS STRING), price AS CAST(id AS DECIMAL(30,2)), ts AS TO_TIMESTAMP_LTZ(id*100,3), WATERMARK FOR ts AS ts)
 WITH ('connector'='datagen','rows-per-second'='100','fields.id.kind'='sequence','fields.id.start'='1','fields.id.end'='400');
CREATE TABLE o (k2 BIGINT, n BIGINT, m BIGINT) WITH ('connector'='print');
INSERT INTO o SELECT k2, n, m FROM (SELECT k2, n, m, ROW_NUMBER() OVER (ORDER BY n DESC, k2) AS rn FROM (SELECT k2, COUNT(*) AS n, MAX(v) AS m FROM src GROUP BY k2)) WHERE rn <= 2;
