-- a computed sum of a union, added
-- key: 1
CREATE TABLE p (id BIGINT) WITH ('connector'='datagen','rows-per-second'='100','fields.id.kind'='sequence','fields.id.start'='1','fields.id.end'='400');
CREATE TABLE q (id BIGINT) WITH ('connector'='datagen','rows-per-second'='60','fields.id.kind'='sequence','fields.id.start'='1','fields.id.end'='400');
CREATE TABLE o (id BIGINT, c0 BIGINT) WITH ('connector'='print');
INSERT INTO o SELECT id, COUNT(*) FROM (SELECT id FROM p UNION ALL SELECT id FROM q) GROUP BY id;
