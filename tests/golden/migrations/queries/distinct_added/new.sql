-- A DISTINCT comes, whose values begin
CREATE TABLE src (id BIGINT, k AS MOD(id,3), k2 AS MOD(id,5), v AS id*10, v2 AS id*1000, d AS MOD(id*7,150), name AS 'name number ' || CAST(MOD(id,7) AS STRING), price AS CAST(id AS DECIMAL(30,2)), pt AS PROCTIME(), ts AS TO_TIMESTAMP_LTZ(id*100,3), WATERMARK FOR ts AS ts)
 WITH ('connector'='datagen','rows-per-second'='100','fields.id.kind'='sequence','fields.id.start'='1','fields.id.end'='400');
CREATE TABLE o (k BIGINT, c0 BIGINT, c1 BIGINT) WITH ('connector'='print');
INSERT INTO o SELECT k, COUNT(*), COUNT(DISTINCT v) FROM src GROUP BY k;
