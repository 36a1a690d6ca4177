SET 'parallelism.default' = '2';
CREATE TABLE src (id BIGINT, k AS MOD(id,7), v AS id*10)
 WITH ('connector'='datagen','rows-per-second'='100','fields.id.kind'='sequence','fields.id.start'='1','fields.id.end'='400');
CREATE TABLE o (k BIGINT, c0 BIGINT, s BIGINT) WITH ('connector'='print');
INSERT INTO o SELECT k, COUNT(*), SUM(v) FROM src GROUP BY k;
