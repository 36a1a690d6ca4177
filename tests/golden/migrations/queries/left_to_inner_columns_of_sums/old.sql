-- The same of rows that are found by their key, whose columns move
CREATE TABLE src (id BIGINT, k AS MOD(id,3), k2 AS MOD(id,5), v AS id*10, v2 AS id*1000, d AS MOD(id*7,150), name AS 'name number ' || CAST(MOD(id,7) AS STRING), price AS CAST(id AS DECIMAL(30,2)), pt AS PROCTIME(), ts AS TO_TIMESTAMP_LTZ(id*100,3), WATERMARK FOR ts AS ts)
 WITH ('connector'='datagen','rows-per-second'='100','fields.id.kind'='sequence','fields.id.start'='1','fields.id.end'='400');
CREATE TABLE dim (id2 BIGINT, kd AS MOD(id2,400), w2 AS id2*7, x AS 'dim ' || CAST(MOD(id2,9) AS STRING)) WITH ('connector'='datagen','rows-per-second'='50','fields.id2.kind'='sequence','fields.id2.start'='1','fields.id2.end'='200');
CREATE TABLE o (g BIGINT, c BIGINT, s BIGINT, m BIGINT, w2 BIGINT) WITH ('connector'='print');
INSERT INTO o SELECT g, c, s, m, w2 FROM (SELECT k2 AS g, SUM(v) AS s, COUNT(*) AS c, MAX(v2) AS m FROM src GROUP BY k2) LEFT JOIN dim ON g = dim.kd;
