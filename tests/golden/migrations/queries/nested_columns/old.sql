-- columns of arrays, maps and rows moved in a join
-- key: 1
CREATE TABLE src (id BIGINT, k AS MOD(id,3), k2 AS MOD(id,5), v AS id*10, maybe AS CASE WHEN MOD(id,4)=0 THEN CAST(NULL AS INT) ELSE CAST(MOD(id,100) AS INT) END, arr AS ARRAY[id, MOD(id,11)], m AS MAP['id', id, 'k', MOD(id,3)], r AS ROW(id, 'text ' || CAST(id AS STRING)), price AS CAST(id AS DECIMAL(30,2)), pt AS PROCTIME(), ts AS TO_TIMESTAMP(FROM_UNIXTIME(id / 10 + id / 20 * 5)), WATERMARK FOR ts AS ts)
 WITH ('connector'='datagen','rows-per-second'='100','fields.id.kind'='sequence','fields.id.start'='1','fields.id.end'='400');
CREATE TABLE dim (d BIGINT, w AS d*7, w2 AS 'dim ' || CAST(d AS STRING), dts AS TO_TIMESTAMP_LTZ(d*5000,3), WATERMARK FOR dts AS dts)
 WITH ('connector'='datagen','rows-per-second'='1','fields.d.kind'='sequence','fields.d.start'='0','fields.d.end'='2');
CREATE TABLE o (id BIGINT, arr ARRAY<BIGINT>, m MAP<STRING, BIGINT>, r ROW<a BIGINT, b STRING>, w BIGINT) WITH ('connector'='print');
INSERT INTO o SELECT  a.id, a.arr, a.m, a.r, b.w FROM src a JOIN dim b ON a.k = b.d;
