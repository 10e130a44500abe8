import assert from 'node:assert/strict'
import { join } from 'node:path'
import test from 'node:test'
import { pathToFileURL } from 'node:url'
import { projectRoot } from '../../../control/launch/paths.ts'

interface Use {
  readonly name: string
  readonly use: 'read' | 'write' | 'call'
}
interface SqlUses {
  usesIn(text: string): Use[]
}

const { usesIn }: SqlUses = await import(pathToFileURL(join(projectRoot, 'scripts/sqlUses.mjs')).href)

/** Uses of names of one letter and of functions in capital letters of the cases below, as `read a`. */
const usesOf = (text: string): string[] => [
  ...new Set(usesIn(text).flatMap(({ name, use }) => (/^t\d$|^fn$/.test(name) ? [`${use} ${name}`] : []))),
]

const CASES: ReadonlyArray<readonly [sql: string, ...uses: string[]]> = [
  ['SELECT x FROM t1 WHERE y', 'read t1'],
  ['SELECT x FROM t1 a, t2 AS b, t3 WHERE a.x = b.x', 'read t1', 'read t2', 'read t3'],
  ['SELECT x FROM t1 a JOIN t2 b ON a.x = b.x LEFT JOIN t3 USING (t4), t5', 'read t1', 'read t2', 'read t3', 'read t5'],
  ['SELECT x, t2 FROM t1 GROUP BY x, t2 ORDER BY t3, t4', 'read t1'],
  ['SELECT count(*) FROM (SELECT x, t4 FROM t1) AS s, t2', 'read t1', 'read t2'],
  ['SELECT x FROM (t1 JOIN t2 USING (x)), LATERAL (SELECT 1 FROM ONLY t3) l', 'read t1', 'read t2', 'read t3'],
  ['SELECT EXISTS (SELECT FROM t1 WHERE x IN (SELECT y FROM t2)), t3 FROM t4', 'read t1', 'read t2', 'read t4'],
  ['SELECT x IS DISTINCT FROM t1 FROM t2', 'read t2'],
  ['SELECT 1 FROM t1 FOR NO KEY UPDATE', 'read t1'],
  ['SELECT 1 FROM t1 a FOR UPDATE OF a', 'read t1'],
  ['SELECT \'text FROM t1\', "y" FROM t2 -- FROM t3', 'read t2'],
  ['INSERT INTO t1 (t2) VALUES ($1) ON CONFLICT (t3) DO UPDATE SET t4 = 1', 'write t1'],
  ['INSERT INTO t1 SELECT x FROM t2, t3', 'write t1', 'read t2', 'read t3'],
  ['UPDATE t1 a SET x = b.x, y = 2 FROM t2 b, t3 WHERE a.id = b.id', 'write t1', 'read t2', 'read t3'],
  ['DELETE FROM t1 a USING t2 b WHERE a.id = b.id', 'write t1', 'read t2'],
  ['COPY t1 (x, t2) FROM STDIN', 'write t1'],
  ['LOCK TABLE t1, t2 IN SHARE MODE', 'write t1', 'write t2'],
  ['TRUNCATE t1, t2', 'write t1', 'write t2'],
  ['TRUNCATE TABLE t1', 'write t1'],
  ['ALTER TABLE t1 DETACH PARTITION x', 'write t1'],
  ['DROP TABLE IF EXISTS t1', 'write t1'],
  [
    'WITH t1 AS (SELECT * FROM t2), t3 (x) AS MATERIALIZED (DELETE FROM t4) SELECT * FROM t1, t3',
    'read t2',
    'write t4',
  ],
  ["SELECT nextval('t1'), fn(x) FROM t2", 'read t2', 'call fn', 'write t1'],
  ['t1 a WHERE a.x = 1', 'read t1'],
  ['t1 SET x = 1', 'write t1'],
  ['t1 (x, y)'],
  ['t1'],
  ['read from t1, and update t2'],
]

for (const [sql, ...uses] of CASES) {
  test(`${sql}: ${uses.join(', ')}`, () => assert.deepEqual(usesOf(sql).sort(), [...uses].sort()))
}
