-- columns of a join of windows
-- key: 1
CREATE TABLE src (id BIGINT, k AS MOD(id,3), k2 AS MOD(id,5), v AS id*10, v2 AS id*1000, name AS 'name number ' || CAST(MOD(id,7) AS STRING), price AS CAST(id AS DECIMAL(30,2)), ts AS TO_TIMESTAMP_LTZ(id*100,3), WATERMARK FOR ts AS ts)
 WITH ('connector'='datagen','rows-per-second'='100','fields.id.kind'='sequence','fields.id.start'='1','fields.id.end'='400');
CREATE TABLE o (id BIGINT, v BIGINT, v2 BIGINT) WITH ('connector'='print');
INSERT INTO o SELECT L.id, L.v, R.v2 FROM (SELECT * FROM TABLE(TUMBLE(TABLE src, DESCRIPTOR(ts), INTERVAL '10' SECOND))) L JOIN (SELECT * FROM TABLE(TUMBLE(TABLE src, DESCRIPTOR(ts), INTERVAL '10' SECOND))) R ON L.id = R.id AND L.window_start = R.window_start AND L.window_end = R.window_end;
