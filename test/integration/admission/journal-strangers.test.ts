// Goal: another user of the machine charges nobody through the journal's shared folder, and has nothing deleted. Method: a
// process of that user does what it can before the start of a real gateway and while it runs, with a journal that charges
// where the gateway itself wrote it.
import assert from 'node:assert/strict'
import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { newId } from '../../../contract/wire/ids.ts'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { createPool, type Pool } from '../../../control/runtime/db/pool.ts'
import { BlockWriter } from '../../../proxy/admission/journal/block.ts'
import { sealingKey } from '../../../proxy/admission/journal/journalKeys.ts'
import { endingText, leaseText } from '../../../proxy/admission/journal/records.ts'
import { chat, completion } from '../../support/clients/chatClient.ts'
import { limits } from '../../support/limits.ts'
import { settlementOf } from '../../support/parts/ledger.ts'
import { type Stack, startStack, type TestAccount, until } from '../../support/stack.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

const NOBODY = 65_534
/** No process has it. */
const DEAD_PID = 99_999_999
const SEGMENT = '00000001.journal'
const CHARGE = 1_000_000_000
const skip = process.getuid?.() !== 0 && 'only root can start processes of another user'

let stack: Stack
let pool: Pool
let shared: string
let victim: TestAccount
/** The gateway's folder in the shared one. */
let folder: string

before(async () => {
  if (skip !== false) return
  shared = makeTempDir('shared')
  chmodSync(shared, 0o1777)
  stack = await startStack({ env: { SLUICE_JOURNAL_MEMORY: shared } })
  pool = createPool(stack.databaseUrl, limits)
  victim = await stack.createAccount({ coin: '10' })
  completion(await chat(stack.baseUrl, victim.apiKey, { model: 'test/small' }))
  const [name = assert.fail()] = readdirSync(shared)
  folder = join(shared, name)
})
after(async () => {
  if (skip !== false) return
  await pool.end()
  await stack.finish()
  removeTempDir(shared)
})

/** A segment with one ending that charges the victim. */
function forged(owner: string, busKey: Buffer): Buffer {
  const { accountId } = victim
  const requestId = newId('req')
  const settlement = settlementOf({ requestId, accountId, chargeUnits: CHARGE }).toString('latin1')
  const lease = leaseText({ shard: shardOf(accountId), field: 'L:key_b:5', accountId, keys: 'key_b' })
  const writer = new BlockWriter(1, sealingKey([busKey], owner))
  writer.add(
    endingText(lease, { requestId, seq: 1, voided: false, heldAtMs: Date.now(), split: `coin=${CHARGE}`, settlement }),
  )
  return Buffer.from(writer.seal())
}

/** Runs a script of the shell as the other user. */
function asNobody(script: string, input: Buffer = Buffer.alloc(0)): SpawnSyncReturns<string> {
  return spawnSync('/bin/sh', ['-e', '-c', script], { uid: NOBODY, gid: NOBODY, cwd: '/', input, encoding: 'utf8' })
}

/** The other user makes a journal of a process that is gone. */
function plant(root: string): SpawnSyncReturns<string> {
  const owner = newId('own')
  const path = join(root, `${owner}.${DEAD_PID}`)
  return asNobody(`umask 0; mkdir -p ${path}; cat > ${join(path, SEGMENT)}`, forged(owner, Buffer.alloc(32, 9)))
}

/** The receipts of the victim, and what they charge. */
async function charged(): Promise<unknown> {
  await stack.settled()
  const sql = 'SELECT count(*) AS receipts, sum(charge_units) AS units FROM receipts WHERE account_id = $1'
  return (await pool.query(sql, [victim.accountId])).rows[0]
}

test('another user cannot write into the folder of a gateway that runs', { skip }, async () => {
  for (const root of [folder, join(stack.dir, 'journal')]) {
    const { status, stderr } = plant(root)
    assert.notEqual(status, 0)
    assert.match(stderr, /Permission denied/)
  }
})

test('a gateway refuses a folder that another user has made, or has linked, before its start', { skip }, async () => {
  const before = await charged()
  await stack.proxy.stop()
  const precious = join(stack.dir, 'precious')
  for (const name of ['backup.1', 'photos.2024']) mkdirSync(join(precious, name), { recursive: true })
  chmodSync(precious, 0o700)
  // As after a start of the machine.
  rmSync(folder, { recursive: true, force: true })

  assert.equal(plant(folder).status, 0)
  await assert.rejects(stack.proxy.start(), /belongs to the user with the id 65534/)
  assert.equal(readdirSync(folder).length, 1)
  rmSync(folder, { recursive: true })

  assert.equal(asNobody(`ln -s ${precious} ${folder}`).status, 0)
  await assert.rejects(stack.proxy.start(), /is a symbolic link/)
  assert.deepEqual(readdirSync(precious).sort(), ['backup.1', 'photos.2024'])
  rmSync(folder)

  await stack.proxy.start()
  await stack.ready()
  assert.deepEqual(await charged(), before)
  await stack.audit()
})

test('the same journal by an owner of another key is set aside, in the right place and of the right user', {
  skip,
}, async () => {
  const before = await charged()
  const owner = newId('own')
  const path = join(folder, `${owner}.${DEAD_PID}`)
  mkdirSync(path, { mode: 0o700 })
  writeFileSync(join(path, SEGMENT), forged(owner, Buffer.alloc(32, 9)), { mode: 0o600 })
  await until('it is set aside', () => !existsSync(path) && /journal_unreadable/.test(stack.logs()))
  assert.deepEqual(await charged(), before)
  await stack.audit()
})
