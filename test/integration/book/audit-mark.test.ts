import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { type AuditOptions, runAudit } from '../../../control/audit/runAudit.ts'
import { digestSums } from '../../../control/audit/sumTables.ts'
import { generateNoteKey, NoteKey } from '../../../control/book/checkpoint/noteKey.ts'
import { signCheckpoint } from '../../../control/book/checkpoint/signCheckpoint.ts'
import { creditCoin } from '../../../control/book/ledger/creditCoin.ts'
import { withClient, withTransaction } from '../../../control/runtime/db/pool.ts'
import { ledgerLimits as limits, limitsWith } from '../../support/limits.ts'
import { TEST_LOG_KEY } from '../../support/logKey.ts'
import {
  type Book,
  dispatchEvents,
  drainAll,
  fundedAccount,
  scalar,
  startBook,
  TestProxy,
} from '../../support/parts/ledger.ts'

const key = NoteKey.of(TEST_LOG_KEY)
const SINCE_MARK: AuditOptions = { marking: { isFull: false, key } }

let book: Book
let accounts: string[]
let proxy: TestProxy
let beats: NodeJS.Timeout

before(async () => {
  book = await startBook()
  accounts = []
  for (let i = 0; i < 4; i++) accounts.push(await fundedAccount(book, 100_000_000))
  proxy = new TestProxy(book.redis)
  beats = setInterval(() => void proxy.beat().catch(() => undefined), 100)
  await serve(40)
})
after(async () => {
  clearInterval(beats)
  await book.stop()
})

async function serve(requests: number): Promise<void> {
  for (let i = 0; i < requests; i++) {
    await proxy.serve(accounts[i % accounts.length] ?? '', i % 7 === 0 ? -1 : 60, 100)
  }
  await drainAll(book)
}

/** Audits without a finding. @returns how far it went */
async function cleanAudit(options: AuditOptions = SINCE_MARK): Promise<string> {
  const checks = await runAudit(book.pool, book.redis, { ...limits, auditRechecksMax: 10 }, options)
  assert.deepEqual(
    checks.filter(({ ok }) => !ok),
    [],
  )
  return checks.find(({ name }) => name === 'how far the audit went')?.detail ?? ''
}

const noteOf = (): Promise<string> => scalar<string>(book.pool, 'SELECT note FROM audit_mark')
const putNote = (note: string) => book.pool.query('UPDATE audit_mark SET note = $1', [note])

test('a mark with any changed field is rejected', async () => {
  await cleanAudit()
  assert.match(await cleanAudit(), /^went on from/)
  const note = await noteOf()
  const forgeries = [
    note.replace(/"size":(\d+)/, (_, size: string) => `"size":${Number(size) + 1}`),
    note.replace(/"sums":"(.)/, (_, digit: string) => `"sums":"${digit === '0' ? '1' : '0'}`),
    note.replace(/"since":"20/, '"since":"21'),
    note.replace(/\n\n.*\n$/s, '\n'),
    NoteKey.of(generateNoteKey('other.example.com/audit')).sign(note.split('\n\n')[0] ?? ''),
    // What the key signs for others is no mark: checkpoints go by its own name.
    key.sign(`${note.split('\n\n')[0]}\n`),
    '',
  ]
  for (const forged of forgeries) {
    await putNote(forged)
    // Each leaves another mark, which the next forgery takes the place of.
    assert.match(
      await cleanAudit(),
      /^everything was checked, .* not signed with the key of the logs; left a signed mark$/,
    )
  }
})

test('sums changed before a mark are rejected', async () => {
  for (const change of [
    `UPDATE audited_charges SET amount = amount + 1 WHERE account = 'coin:${accounts[0]}'`,
    'DELETE FROM audited_key_usage WHERE units > 0',
    `INSERT INTO audited_referrals VALUES ('ref_never', 1)`,
    `UPDATE audited_usage_days SET model = model || 'x'`,
  ]) {
    await cleanAudit()
    await book.pool.query(change)
    assert.match(await cleanAudit(), /^everything was checked, .* not those it names/, change)
  }
})

test('without a key marks are unsigned, which the audit reports, and signed marks are ignored', async () => {
  await cleanAudit()
  const unsigned: AuditOptions = { marking: { isFull: false, key: undefined } }
  assert.match(await cleanAudit(unsigned), /^everything was checked.* not set; left a mark that is not signed/)
  assert.match(
    await cleanAudit(unsigned),
    /^went on from .* left a mark that is not signed, since SLUICE_LOG_KEY is not set$/,
  )
  assert.match(await cleanAudit(), /^everything was checked.* left a signed mark$/)
})

test('an audit with findings does not change the mark', async () => {
  await cleanAudit()
  const note = await noteOf()
  await book.pool.query(
    `INSERT INTO settlement_rejects (shard, entry_id, reason, fields) VALUES (0, '1-1', 'test', '[]')`,
  )
  const checks = await runAudit(book.pool, book.redis, limits, SINCE_MARK)
  assert.ok(checks.some(({ ok }) => !ok))
  assert.match(checks.at(-1)?.detail ?? '', /left no mark$/)
  assert.equal(await noteOf(), note)
  await book.pool.query('DELETE FROM settlement_rejects')
})

test('requests in progress when a mark was written are checked by the next audit', async () => {
  await withClient(book.pool, async (client) => {
    await client.query('BEGIN')
    await client.query('SET LOCAL session_replication_role = replica')
    await client.query(
      `INSERT INTO transfers (ref, kind, debit, credit, units) VALUES ('req_stray', 'charge', 'house', 'revenue_unpaid:00', 5)`,
    )
    await cleanAudit()
    await client.query('COMMIT')
  })
  const checks = await runAudit(book.pool, book.redis, limits, SINCE_MARK)
  const failed = checks.filter(({ ok }) => !ok)
  assert.deepEqual(
    failed.map(({ name }) => name),
    ['balances equal their postings', 'every charge is booked in full'],
  )
  await withTransaction(book.pool, async (client) => {
    await client.query('SET LOCAL session_replication_role = replica')
    await client.query(`DELETE FROM transfers WHERE ref = 'req_stray'`)
  })
})

test('heads signed between audits are checked from the mark on', async () => {
  for (let round = 0; round < 3; round++) {
    await serve(10)
    await signCheckpoint(book.pool, key, limits)
    assert.match(await cleanAudit(), round === 0 ? /./ : /^went on from/)
  }
  const last = 'position = (SELECT max(position) FROM log_heads)'
  const root = await scalar<Buffer>(book.pool, `SELECT root FROM log_heads WHERE ${last}`)
  const setRoot = (to: Buffer) =>
    withTransaction(book.pool, async (client) => {
      await client.query('SET LOCAL session_replication_role = replica')
      await client.query(`UPDATE log_heads SET root = $1 WHERE ${last}`, [to])
    })
  await setRoot(Buffer.alloc(root.length))
  const all = await runAudit(book.pool, book.redis, limits, { marking: { isFull: true, key } })
  assert.ok(all.some(({ ok, name }) => !ok && name === 'usage logs contain every head that was signed'))
  await setRoot(root)
  assert.match(await cleanAudit(), /^went on from/)
})

test('bookings during an audit never make it fail', async () => {
  const rounds = fc.array(
    fc.record({ requests: fc.integer({ min: 1, max: 20 }), credits: fc.nat(5), isFull: fc.boolean() }),
    {
      minLength: 2,
      maxLength: 3,
    },
  )
  let number = 0
  await fc.assert(
    fc.asyncProperty(rounds, async (plan) => {
      for (const { requests, credits, isFull } of plan) {
        const credited = async () => {
          for (let i = 0; i < credits; i++) {
            const accountId = accounts[i % accounts.length] ?? ''
            const credit = { accountId, nanos: 1_000, units: 1_000, ref: `more-${number++}` }
            await withTransaction(book.pool, (client) => creditCoin(client, credit))
          }
          await dispatchEvents(book)
        }
        await Promise.all([cleanAudit({ marking: { isFull, key } }), serve(requests), credited(), cleanAudit()])
      }
      await cleanAudit({ marking: { isFull: true, key } })
    }),
    { numRuns: 2 },
  )
})

test('each sum of a mark is read once', async (t) => {
  const fresh = await startBook()
  t.after(() => fresh.stop())
  const [rows, pageRows] = [100, 7]
  await fresh.pool.query(
    `INSERT INTO audited_key_usage SELECT 'key_' || n / 10, n % 10, n, 1 FROM generate_series(1, $1) AS n`,
    [rows],
  )
  const reads = await withClient(fresh.pool, async (client) => {
    const query = t.mock.method(client, 'query')
    await digestSums(client, limitsWith({ auditDigestRows: pageRows }))
    query.mock.restore()
    return query.mock.callCount()
  })
  const { rows: tables } = await fresh.pool.query(
    `SELECT FROM pg_class WHERE relkind = 'r' AND relname LIKE 'audited\\_%'`,
  )
  // Of this table its pages and the end; of the others, which are empty, the end.
  assert.equal(reads, Math.ceil(rows / pageRows) + tables.length)
})
