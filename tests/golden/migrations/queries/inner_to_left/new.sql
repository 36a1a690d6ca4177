-- a JOIN becomes a LEFT JOIN
-- key: 1
CREATE TABLE src (id BIGINT, k AS MOD(id,3), k2 AS MOD(id,5), v AS id*10, v2 AS id*1000, name AS 'name number ' || CAST(MOD(id,7) AS STRING), price AS CAST(id AS DECIMAL(30,2)), ts AS TO_TIMESTAMP_LTZ(id*100,3), WATERMARK FOR ts AS ts)
 WITH ('connector'='datagen','rows-per-second'='100','fields.id.kind'='sequence','fields.id.start'='1','fields.id.end'='400');
CREATE TABLE dim (d BIGINT, w AS d*7, w2 AS 'dim ' || CAST(d AS STRING), dts AS TO_TIMESTAMP_LTZ(d*5000,3), WATERMARK FOR dts AS dts)
 WITH ('connector'='datagen','rows-per-second'='1','fields.d.kind'='sequence','fields.d.start'='0','fields.d.end'='2');
CREATE TABLE o (id BIGINT, w BIGINT) WITH ('connector'='print');
INSERT INTO o SELECT  a.id, b.w FROM src a LEFT JOIN dim b ON a.k = b.d;
