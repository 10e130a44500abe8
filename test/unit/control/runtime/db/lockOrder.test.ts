import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { lockAccounts } from '../../../../../control/book/ledger/appendAdmissionEvent.ts'
import { lockLedgerAccounts } from '../../../../../control/book/ledger/lockLedgerAccounts.ts'
import { projectRoot } from '../../../../../control/launch/paths.ts'
import { LOCK_ORDER, type LockKind } from '../../../../../control/runtime/db/lockOrder.ts'
import { createPool, type Pool, withTransaction } from '../../../../../control/runtime/db/pool.ts'
import { ledgerLimits as limits } from '../../../../support/limits.ts'
import { catchBreaches } from '../../../../support/lockWatch.ts'
import { freshDatabase } from '../../../../support/services.ts'
import { TransactionLocks } from '../../../../support/transactionLocks.ts'

type Step = readonly [kind: LockKind, ...ids: string[]]

/** The first breach of these statements of one transaction. */
function breachOf(steps: readonly Step[]): string | undefined {
  const locks = new TransactionLocks()
  return steps.map(([kind, ...ids]) => locks.take(kind, ids)).find((fault) => fault !== undefined)
}

const KEPT: readonly (readonly Step[])[] = [
  [
    ['series', 's1'],
    ['accounts', 'b', 'a'],
    ['ledgerAccounts', 'coin:a', 'coin:b'],
    ['keyUsage', 'k'],
  ],
  [
    ['accounts', 'a', 'b'],
    ['accounts', 'a'],
    ['accounts', 'c'],
  ],
  [
    ['ledgerAccounts', 'coin:a', 'revenue:3'],
    ['ledgerAccounts', 'lock_unearned:s'],
    ['ledgerAccounts', 'lock_unearned:s', 'revenue'],
  ],
]

for (const steps of KEPT) {
  test(`kept: ${steps.map((step) => step.join(' ')).join('; ')}`, () => assert.equal(breachOf(steps), undefined))
}

const BROKEN: ReadonlyArray<readonly [fault: RegExp, ...steps: Step[]]> = [
  [/payments p is locked after accounts a/, ['accounts', 'a'], ['payments', 'p']],
  [/accounts a is locked after accounts b/, ['accounts', 'b'], ['accounts', 'a']],
  [/coin:a is locked after proceeds revenue/, ['ledgerAccounts', 'revenue'], ['ledgerAccounts', 'coin:a']],
  [/coin:a is locked after keyUsage k/, ['keyUsage', 'k'], ['ledgerAccounts', 'coin:a']],
  [/heads 03 is locked after heads 10/, ['heads', '10'], ['heads', '03']],
]

for (const [fault, ...steps] of BROKEN) {
  test(`broken: ${steps.map((step) => step.join(' ')).join('; ')}`, () => assert.match(breachOf(steps) ?? '', fault))
}

test('rows that a transaction has made itself have no order', () => {
  const locks = new TransactionLocks()
  locks.make('accountRows', ['new'])
  assert.equal(locks.take('accounts', ['new']), undefined)
  assert.equal(locks.take('accountRows', ['new']), undefined)
  assert.match(locks.take('accountRows', ['other']) ?? '', /accountRows other is locked after accounts new/)
})

test('the page about the ledger has the list, in its order', () => {
  const page = readFileSync(join(projectRoot, 'docs/architecture/ledger.md'), 'utf8')
  const [, section = ''] = /## Order of locks\n([\s\S]*?)\n## /.exec(page) ?? []
  const rows = [...section.matchAll(/^(\d+)\. `(\w+)`: /gm)]
  assert.deepEqual(
    rows.map(([, , kind]) => kind),
    LOCK_ORDER,
  )
  assert.deepEqual(
    rows.map(([, number]) => Number(number)),
    LOCK_ORDER.map((_, at) => at + 1),
  )
})

let pool: Pool

before(async () => {
  pool = createPool(await freshDatabase({ empty: true }), limits)
  await pool.query('CREATE TABLE admission_accounts (account_id text COLLATE "C")')
  await pool.query('CREATE TABLE ledger_accounts (id text COLLATE "C")')
})

after(async () => {
  await pool.end()
})

/** What the watch of connections says of a transaction. */
async function seenIn(work: Parameters<typeof withTransaction<void>>[1]): Promise<string[]> {
  const seen: string[] = []
  const end = catchBreaches((fault) => seen.push(fault))
  try {
    await withTransaction(pool, work)
  } finally {
    end()
  }
  return seen
}

test('a transaction of the pool that breaks the order is seen, and the next one begins anew', async () => {
  const wrong = await seenIn(async (client) => {
    await lockLedgerAccounts(client, ['coin:a'])
    await lockAccounts(client, ['a'])
  })
  assert.deepEqual(wrong, ['accounts a is locked after ledgerAccounts coin:a'])
  const right = await seenIn(async (client) => {
    await lockAccounts(client, ['a'])
    await lockLedgerAccounts(client, ['coin:a'])
  })
  assert.deepEqual(right, [])
})
