import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { pathToFileURL } from 'node:url'
import { projectRoot } from '../../../control/launch/paths.ts'

interface Exception {
  readonly file: string
  readonly name: string
  readonly use: 'read' | 'write' | 'call'
  readonly why: string
}
interface Owners {
  readonly owners: Record<string, string>
  readonly exceptions: readonly Exception[]
}
interface Tables {
  findTableFaults(files: Map<string, string>, schema: Set<string>, tables: Owners): string[]
  namesOfSchema(migrations: readonly string[]): Set<string>
}

const script = pathToFileURL(join(projectRoot, 'scripts/tables.mjs')).href
const { findTableFaults, namesOfSchema }: Tables = await import(script)
const real: Owners = JSON.parse(readFileSync(join(projectRoot, 'control/tables.json'), 'utf8'))

/** Faults of one source, by the owners of the project. */
function faultsOf(path: string, source: string, exceptions: readonly Exception[] = []): string[] {
  const schema = new Set(Object.keys(real.owners))
  return findTableFaults(new Map([[path, source]]), schema, { owners: real.owners, exceptions })
}

const query = (sql: string): string => `export const read = (db) => db.query(\`${sql}\`)\n`

const REFUSED: ReadonlyArray<readonly [path: string, sql: string, fault: RegExp]> = [
  [
    'control/book/ledger/a.ts',
    'SELECT 1 FROM agents',
    /reads agents, which control\/products\/agents on a higher floor/,
  ],
  ['control/book/ledger/a.ts', 'SELECT 1 FROM receipts r JOIN api_keys k USING (id)', /reads api_keys/],
  ['control/admission/a.ts', 'SELECT add(1) FROM lock_quotes', /reads lock_quotes/],
  ['control/chain/a.ts', 'SELECT new_flow_id(now())', /reads new_flow_id/],
  ['control/runtime/a.ts', 'SELECT 1 FROM receipts, idempotency_keys', /idempotency_keys/],
  [
    'control/products/locks/a.ts',
    'UPDATE ledger_accounts SET balance = 0',
    /writes to ledger_accounts, which only control\/book\/ledger may/,
  ],
  [
    'control/book/settlement/a.ts',
    'INSERT INTO transfers DEFAULT VALUES',
    /writes to transfers, which only control\/book\/ledger/,
  ],
  ['control/records/archive/a.ts', 'DELETE FROM receipts', /writes to receipts/],
  ['control/audit/a.ts', 'DELETE FROM audit_mark; UPDATE accounts SET name = 1', /writes to accounts/],
  ['control/cli/a.ts', 'LOCK TABLE transfers IN SHARE MODE', /writes to transfers/],
]

for (const [path, sql, fault] of REFUSED) {
  test(`refused: ${path}: ${sql}`, () => {
    const faults = faultsOf(path, query(sql))
    assert.ok(
      faults.some((found) => fault.test(found)),
      faults.join('\n'),
    )
  })
}

const ALLOWED: ReadonlyArray<readonly [path: string, sql: string]> = [
  ['control/products/agents/a.ts', 'SELECT 1 FROM agents JOIN accounts USING (id)'],
  ['control/products/agents/a.ts', 'UPDATE agents SET description = 1'],
  ['control/book/ledger/a.ts', 'SELECT 1 FROM receipts'],
  ['control/identity/platform/a.ts', 'UPDATE api_keys SET platform_user = 1'],
  ['control/audit/a.ts', 'SELECT 1 FROM agents, receipts, webhook_attempts'],
  ['control/cli/a.ts', 'SELECT 1 FROM webhook_attempts'],
]

for (const [path, sql] of ALLOWED) {
  test(`allowed: ${path}: ${sql}`, () => assert.deepEqual(faultsOf(path, query(sql)), []))
}

test('a table needs an owner, and an owner a table and a room', () => {
  const owners = { receipts: 'book/settlement', gone: 'book/ledger', agents: 'nowhere' }
  const faults = findTableFaults(new Map(), new Set(['receipts', 'agents', 'added']), { owners, exceptions: [] })
  assert.equal(faults.length, 3, faults.join('\n'))
  assert.match(faults.join('\n'), /added has no owner/)
  assert.match(faults.join('\n'), /gone .* is not in the schema/)
  assert.match(faults.join('\n'), /agents is owned by nowhere/)
})

test('an exception allows one use of one file, and is refused once nothing needs it', () => {
  const exception: Exception = { file: 'book/ledger/a.ts', name: 'agents', use: 'read', why: 'for this test' }
  const read = query('SELECT 1 FROM agents')
  assert.deepEqual(faultsOf('control/book/ledger/a.ts', read, [exception]), [])
  assert.match(faultsOf('control/book/ledger/b.ts', read, [exception]).join('\n'), /b\.ts reads agents/)
  assert.match(faultsOf('control/book/ledger/a.ts', query('SELECT 1'), [exception]).join('\n'), /needed no more/)
  assert.match(faultsOf('control/book/ledger/a.ts', query('DELETE FROM agents'), [exception]).join('\n'), /writes to/)
})

test('the schema is the result of all migrations', () => {
  const first =
    'CREATE TABLE one (id text);\nCREATE VIEW two AS SELECT 1;\nCREATE FUNCTION three() RETURNS trigger AS 1;'
  const second = 'DROP TABLE one;\nCREATE OR REPLACE FUNCTION three() RETURNS trigger AS 2;\nCREATE SEQUENCE four;'
  assert.deepEqual([...namesOfSchema([first, second])].sort(), ['four', 'schema_migrations', 'three', 'two'])
  const again = 'CREATE TABLE IF NOT EXISTS five (id text);\nDROP VIEW IF EXISTS two;'
  assert.deepEqual([...namesOfSchema([first, second, again])].sort(), ['five', 'four', 'schema_migrations', 'three'])
})
