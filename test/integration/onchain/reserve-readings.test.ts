// Goal: readings of the reserve are kept by day and say what is known, also without a chain; what they do not account for is
// found by the audit. Method: a real database without a chain.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import type { Address } from '../../../contract/payments/address.ts'
import type { ApiCall } from '../../../control/api/call.ts'
import { checkAttestations, RESERVE_INVARIANTS } from '../../../control/audit/reserveChecks.ts'
import { inSnapshot } from '../../../control/audit/snapshot.ts'
import { parseCatalog } from '../../../control/catalog/pricing/catalogFile.ts'
import { publishCatalog } from '../../../control/catalog/pricing/publish.ts'
import { CatalogKey } from '../../../control/catalog/signing/catalogKey.ts'
import { signingWith } from '../../../control/catalog/signing/signCatalog.ts'
import type { ChainClient } from '../../../control/chain/chainClient.ts'
import { attestationKeeper } from '../../../control/products/reserve/attestationKeeper.ts'
import { lastAttestation } from '../../../control/products/reserve/attestationStore.ts'
import { makeAttestation } from '../../../control/products/reserve/makeAttestation.ts'
import { type ReserveChain, readReserve } from '../../../control/products/reserve/reading.ts'
import { lastReading } from '../../../control/products/reserve/readingStore.ts'
import { reserveHandlers } from '../../../control/products/reserve/reserveHandlers.ts'
import { reserveKeeper } from '../../../control/products/reserve/reserveKeeper.ts'
import type { StatedReserve } from '../../../control/products/reserve/statedReserve.ts'
import { withdrawalGate } from '../../../control/products/reserve/withdrawalGate.ts'
import { migrate } from '../../../control/runtime/db/migrate.ts'
import { createPool, type Pool } from '../../../control/runtime/db/pool.ts'
import { limits, limitsWith } from '../../support/limits.ts'
import { log, newAccount, until } from '../../support/parts/ledger.ts'
import { freshDatabase } from '../../support/services.ts'
import { testCatalog } from '../../support/testCatalog.ts'

const CHAIN_ID = 31_337
const addressOf = (digits: string): Address => `0x${digits.repeat(20)}`
const [TOKEN, TREASURY, VAULT] = [addressOf('aa'), addressOf('bb'), addressOf('cc')]
const key = CatalogKey.of(`0x${'11'.repeat(32)}`)
let pool: Pool

before(async () => {
  pool = createPool(await freshDatabase(), limits)
  await migrate(pool)
  const catalog = parseCatalog('catalog.yaml', testCatalog('http://127.0.0.1:9/v1', { coinUsd: '0.5' }))
  await publishCatalog(pool, catalog, limits, Date.now(), { sign: signingWith(key, limits) })
  await newAccount(pool, 3_000_000_001)
})
after(() => pool.end())

async function read<T = Record<string, unknown>>(
  operation: 'get_reserve' | 'list_reserve_days',
  query = {},
): Promise<T> {
  const call = { params: {}, query, body: {}, caller: { kind: 'nobody' }, accountId: '' }
  return (await reserveHandlers(pool, limits)[operation].read(call as unknown as ApiCall)).json as T
}

test('without a chain, the liabilities are shown and the reserve is empty', async () => {
  await assert.rejects(read('get_reserve'), { row: 'not_found' })
  const keeper = reserveKeeper({ pool, chain: undefined, log, limits: limitsWith({ reserveCheckMs: 20 }) })
  await until('it is read', async () => (await pool.query('SELECT FROM reserve_days')).rowCount === 1)
  await keeper.stop()
  const reserve = await read('get_reserve')
  const { network, block, token, treasury, vault, held, held_usd, ratio, covered, withdrawals } = reserve
  assert.deepEqual([network, block, token, treasury, vault, ratio, covered, withdrawals], Array(8).fill(null))
  assert.deepEqual([held, held_usd], [[], '0'])
  // What is owed is rounded up to hundredths.
  assert.deepEqual([reserve['owed_usd'], reserve['coin_usd']], ['1.51', '0.5'])
  await pool.query(`INSERT INTO reserve_days SELECT day - 1, first_reading, first_at - interval '1 day', last_reading,
    last_at - interval '1 day', 0 FROM reserve_days`)
  const days = await read<{ data: { day: string }[]; has_more: boolean }>('list_reserve_days', { limit: 1 })
  assert.deepEqual([days.data.length, days.has_more], [1, true])
  const older = await read<typeof days>('list_reserve_days', { after: days.data[0]?.day })
  assert.deepEqual([older.data.length, older.has_more], [1, false])
})

/** A chain whose node has these tokens of everybody. */
function chainWith(tokens: bigint, holders: ReserveChain['holders'], down = false): ReserveChain {
  const answer = async <T>(value: T): Promise<T> => {
    if (down) throw new Error('no answer')
    return value
  }
  const node = {
    readContract: () => answer(tokens),
    getBlock: ({ blockNumber }: { blockNumber: bigint }) => answer({ hash: `0x${blockNumber}` }),
    getChainId: () => answer(CHAIN_ID),
  }
  const client = node as unknown as ChainClient
  const token = { decimals: 18, name: 'Coin', version: '1', method: 'permit2', usdUnits: 0 } as const
  return { client, chainId: CHAIN_ID, holders, assets: [{ id: 'coin', address: TOKEN, ...token }] }
}

test('movements after the block that is read count, and other addresses are attested immediately', async () => {
  await pool.query(
    `INSERT INTO chain_identity (chain_id, genesis_hash, treasury, quote_secret, scanned_block) VALUES ($1, '0x0', $2, '', 7)`,
    [CHAIN_ID, TREASURY],
  )
  // Of what is mined at or before the block the node has told; of what waits nothing is counted.
  for (const [ref, block, to, amount] of [
    ['a', 7, TREASURY, 1],
    ['b', 8, TREASURY, 300],
    ['c', 9, VAULT, 100],
    ['d', null, TREASURY, 5],
  ] as const) {
    const [from, state] = [to === TREASURY ? VAULT : TREASURY, block === null ? 'pending' : 'mined']
    await pool.query(
      `INSERT INTO chain_transactions (purpose, ref, token, transfer_from, transfer_to, amount, state, hash, block_number, block_hash)
       VALUES ('payment', $1, $2, $3, $4, $5, $6, $7, $8, $7)`,
      [ref, TOKEN, from, to, amount, state, block === null ? null : `0x${block}`, block],
    )
  }
  const options = { pool, key, log, limits: limitsWith({ attestationCheckMs: 20 }), intervalSeconds: 3_600 }
  const reasonsOf = async (chain: ReserveChain | undefined, count: number) => {
    const keeper = attestationKeeper({ ...options, chain })
    await until('it is attested', async () => (await lastAttestation(pool))?.number === count)
    await keeper.stop()
    return JSON.parse((await lastAttestation(pool))?.statement ?? '') as { reason: string; reserve: StatedReserve }
  }
  assert.equal((await reasonsOf(undefined, 1)).reason, 'schedule')
  const treasury = { role: 'treasury', address: TREASURY } as const
  const { reason, reserve } = await reasonsOf(chainWith(1_000n, [treasury]), 2)
  assert.deepEqual([reason, reserve.block, reserve.block_hash, reserve.covered], ['addresses', 7, '0x7', false])
  assert.deepEqual(
    reserve.held.map(({ token_amount, later_amount, amount }) => [token_amount, later_amount, amount]),
    [['1000', '200', '0.0000000000000012']],
  )
  const vault = { role: 'vault', address: VAULT } as const
  const both = await reasonsOf(chainWith(10n ** 18n, [treasury, vault]), 3)
  assert.deepEqual([both.reason, both.reserve.held_usd, both.reserve.ratio], ['addresses', '1', '0.666666'])
  // A node that is away leaves what is known as it is.
  const keeper = attestationKeeper({ ...options, chain: chainWith(1n, [treasury], true) })
  await assert.rejects(makeAttestation({ ...options, chain: chainWith(1n, [treasury], true) }, 'schedule'), {
    row: 'chain_unavailable',
  })
  await keeper.stop()
  assert.equal((await lastAttestation(pool))?.number, 3)
  const checks = await inSnapshot(pool, (client) => checkAttestations(client, limits))
  assert.ok(
    checks.every(({ ok }) => ok),
    JSON.stringify(checks),
  )
})

/** A node whose chain can be replaced by another branch, which then is the one that stays. */
class ForkedNode {
  branch = 'a'
  tokens = 10n ** 18n
  /** The height of the chain. */
  head = 100
  /** Runs once, while balances are read. */
  meanwhile: (() => void) | undefined

  chain(): ReserveChain {
    const chain = chainWith(0n, [{ role: 'treasury', address: TREASURY }])
    const atHeight = async <T>(block: bigint, value: () => T): Promise<T> => {
      if (Number(block) > this.head) throw new Error('block not found')
      return value()
    }
    const node = {
      getChainId: async () => CHAIN_ID,
      getBlock: ({ blockNumber }: { blockNumber: bigint }) =>
        atHeight(blockNumber, () => ({ hash: `0x${this.branch}${blockNumber}` })),
      readContract: ({ blockNumber }: { blockNumber: bigint }) =>
        atHeight(blockNumber, () => {
          const { tokens } = this
          this.meanwhile?.()
          this.meanwhile = undefined
          return tokens
        }),
    }
    return { ...chain, client: node as unknown as ChainClient }
  }

  /** The chain goes on from another block in place of the one that was read. */
  replace(branch: string, tokens: bigint): void {
    this.branch = branch
    this.tokens = tokens
  }
}

test('after a reorganization the gate, the reading and the attestation are of the chain that stays', async (t) => {
  await pool.query(`DELETE FROM chain_transactions`)
  const node = new ForkedNode()
  const [rich, poor] = [10n ** 20n, 1n]
  node.tokens = rich
  const quick = { reserveCheckMs: 20, reserveReadMs: 20, reserveRecheckMs: 20, attestationCheckMs: 20 }
  const options = { pool, key, log, chain: node.chain(), limits: limitsWith(quick), intervalSeconds: 3_600 }
  const keepers = [reserveKeeper(options), attestationKeeper(options)]
  t.after(() => Promise.all(keepers.map((keeper) => keeper.stop())))
  const gate = async () => withdrawalGate(await lastReading(pool), options.limits)
  const attested = async () =>
    JSON.parse((await lastAttestation(pool))?.statement ?? '') as { reason: string; reserve: StatedReserve }
  const untilBlock = (hash: string) =>
    until(`${hash} is read and attested`, async () => {
      const [reading, { reserve }] = [await lastReading(pool), await attested()]
      return reading?.reserve.block_hash === hash && reserve.block_hash === hash
    })
  await untilBlock('0xa7')
  assert.deepEqual([await gate(), (await lastReading(pool))?.reserve.covered], ['open', true])

  // Under a reading and under an attestation: what is read of one branch is never told with the block of the other.
  for (const [branch, tokens, state] of [
    ['b', poor, 'short'],
    ['c', rich, 'open'],
  ] as const) {
    node.meanwhile = () => node.replace(branch, tokens)
    await untilBlock(`0x${branch}7`)
    await until(`the gate is ${state}`, async () => (await gate()) === state)
    const { reason, reserve } = await attested()
    assert.deepEqual(
      [reason, reserve.covered, reserve.held[0]?.token_amount],
      ['reorganization', state === 'open', `${tokens}`],
    )
  }
  const made = (await lastAttestation(pool))?.number

  // The chain that stays is shorter for now: nothing is told of a block that is gone, and nothing is signed.
  node.head = 3
  node.replace('d', poor)
  const before = await lastReading(pool)
  await assert.rejects(makeAttestation(options, 'operator'), { row: 'chain_unavailable' })
  assert.deepEqual([before?.reserve.block_hash, (await lastAttestation(pool))?.number], ['0xc7', made])
  assert.equal(withdrawalGate(before && { ...before, ageMs: limits.reserveReadingMaxMs + 1 }, limits), 'stale')
  node.head = 100
  await untilBlock('0xd7')
  await until('the gate is short', async () => (await gate()) === 'short')
  const checks = await inSnapshot(pool, (client) => checkAttestations(client, limits))
  assert.ok(
    checks.every(({ ok }) => ok),
    JSON.stringify(checks),
  )
})

test('a reading does not mix balances of one branch with the block of another', async () => {
  const node = new ForkedNode()
  node.meanwhile = () => node.replace('b', 1n)
  const chain = node.chain()
  const readOnce = () => inSnapshot(pool, (client) => readReserve(client, chain))
  await assert.rejects(readOnce(), { row: 'chain_unavailable' })
  const reading = await readOnce()
  assert.deepEqual([reading?.chain?.blockHash, reading?.held[0]?.amount], ['0xb7', 1n])
})

test('the audit names an account of coin without a class, and a reading with a wrong sum', async () => {
  const faultsOf = async () => {
    const found = await Promise.all(RESERVE_INVARIANTS.map(({ faults }) => pool.query(faults)))
    return found.map(({ rowCount }) => rowCount)
  }
  assert.deepEqual(await faultsOf(), [0, 0])
  await pool.query(`INSERT INTO ledger_accounts (id, kind, currency) VALUES ('escrow_other', 'system', 'coin')`)
  await pool.query(`UPDATE reserve_days SET last_reading = (last_reading::jsonb || '{"owed_usd":"1"}')::json`)
  assert.deepEqual(await faultsOf(), [1, 2])
})
