import { setTimeout as sleep } from 'node:timers/promises'
import { createPublicClient, http, type PublicClient, parseAbi } from 'viem'
import { DISTRIBUTOR_ABI } from '../products/holders/rewards/distributorContract.ts'
import { ANCHOR_ABI } from '../products/settlements/anchorContract.ts'
import type { Client, Pool } from '../runtime/db/pool.ts'
import { type AuditCheck, Faults } from './check.ts'
import type { AuditLimits } from './limits.ts'
import { checkLockTokens, LOCK_TOKENS } from './lockTokenChecks.ts'
import { inSnapshot } from './snapshot.ts'

const ABI = parseAbi(['function balanceOf(address account) view returns (uint256)'])
const RECHECK_MS = 200
const CHECK = 'the treasury has the tokens of the book'
const ANCHORED = 'the last settlement batch is on the chain as it is in the book'
const COVERED = 'distributors have the coin of all rewards that are not claimed, and their roots'

interface Expected {
  readonly token: string
  readonly amount: string
}

/**
 * Compares the treasury's tokens on the chain with the book: the opening balance, the transfers of its own transactions, and
 * the transfers of others, up to the last block that was read.
 * @param rpcUrl of a node; undefined when none is known
 * @returns no check when the book has no chain
 * @throws errors of PostgreSQL
 */
export async function checkChain(pool: Pool, rpcUrl: string | undefined, limits: AuditLimits): Promise<AuditCheck[]> {
  let checks: AuditCheck[] = []
  // A transaction may be in a block and not in the book yet; a difference that stays is a fault.
  for (let attempt = 0; attempt < limits.auditRechecksMax; attempt++) {
    if (attempt > 0) await sleep(RECHECK_MS)
    checks = await compareOnce(pool, rpcUrl, limits)
    if (checks.every((check) => check.ok)) break
  }
  return checks
}

async function compareOnce(pool: Pool, rpcUrl: string | undefined, limits: AuditLimits): Promise<AuditCheck[]> {
  const book = await inSnapshot(pool, readBook)
  if (book === undefined) return []
  if (rpcUrl === undefined) {
    const detail = 'not compared: CHAIN_RPC_URL is not set'
    return [CHECK, ANCHORED, COVERED, LOCK_TOKENS].map((name) => ({ name, ok: true, detail }))
  }
  const faults = new Faults()
  const chain = createPublicClient({ transport: http(rpcUrl, { timeout: limits.databaseTimeoutMs }) })
  const { treasury, blockNumber, tokens } = book
  try {
    for (const { token, amount } of tokens) {
      const address = token as `0x${string}`
      const has = await chain.readContract({
        abi: ABI,
        address,
        functionName: 'balanceOf',
        args: [treasury],
        blockNumber,
      })
      if (has !== BigInt(amount)) faults.add(`${token}: ${has} on the chain, ${amount} by the book`)
    }
  } catch (error) {
    faults.add(`the chain cannot be read: ${(error as Error).message.split('\n')[0]}`)
  }
  const treasuryCheck = faults.check(CHECK, `${tokens.length} tokens at block ${blockNumber}`)
  return [
    treasuryCheck,
    await checkBatch(pool, chain),
    await checkDistributors(pool, chain),
    await checkLockTokens(pool, chain),
  ]
}

/** The chain has the hash of a batch's statement, and each batch contains those before. */
async function checkBatch(pool: Pool, chain: PublicClient): Promise<AuditCheck> {
  const found = await pool.query<{ number: number; contract: `0x${string}`; root: string; digest: string }>(
    LAST_ANCHORED,
  )
  const [batch] = found.rows
  if (batch === undefined) return { name: ANCHORED, ok: true, detail: 'none is anchored' }
  const { number, contract: address, root, digest } = batch
  const faults = new Faults()
  try {
    const args = [BigInt(number)] as const
    const [content] = await chain.readContract({ abi: ANCHOR_ABI, address, functionName: 'batch', args })
    if (content.root !== `0x${root}`) faults.add(`batch ${number} has the root ${content.root} there, ${root} here`)
    if (content.statement !== `0x${digest}`) faults.add(`batch ${number} has another statement there`)
  } catch (error) {
    faults.add(`batch ${number} cannot be read: ${(error as Error).message.split('\n')[0]}`)
  }
  return faults.check(ANCHORED, `batch ${number} in ${address}`)
}

/** Each distributor holds the coin of all open claims, and its last published period is the one in the book. */
async function checkDistributors(pool: Pool, chain: PublicClient): Promise<AuditCheck> {
  const found = await pool.query<{
    number: number
    contract: `0x${string}`
    token: `0x${string}`
    root: string
    amount: string
  }>(LAST_PUBLISHED)
  const faults = new Faults()
  for (const { number, contract: address, token, root, amount } of found.rows) {
    try {
      const { number: blockNumber } = await chain.getBlock()
      const at = { abi: DISTRIBUTOR_ABI, address, blockNumber } as const
      const [has, unclaimed, period] = await Promise.all([
        chain.readContract({ abi: ABI, address: token, functionName: 'balanceOf', args: [address], blockNumber }),
        chain.readContract({ ...at, functionName: 'unclaimed' }),
        chain.readContract({ ...at, functionName: 'period', args: [BigInt(number)] }),
      ])
      if (has < unclaimed) faults.add(`${address} has ${has} for ${unclaimed} that can be claimed`)
      if (period.root !== `0x${root}` || period.total !== BigInt(amount)) {
        faults.add(
          `period ${number} of ${address} is ${period.total} under ${period.root}, ${amount} under ${root} here`,
        )
      }
    } catch (error) {
      faults.add(`${address} cannot be read: ${(error as Error).message.split('\n')[0]}`)
    }
  }
  return faults.check(COVERED, `${found.rows.length} distributors`)
}

const LAST_PUBLISHED = `
  SELECT DISTINCT ON (o.receiver) o.number, o.receiver AS contract, o.token, encode(p.root, 'hex') AS root,
    o.amount::text AS amount
  FROM revenue_payouts o JOIN revenue_periods p USING (number)
  JOIN chain_transactions t ON t.purpose = 'reward_root' AND t.subject_id = o.number::text AND t.state = 'mined'
  WHERE o.purpose = 'reward' ORDER BY o.receiver, o.number DESC`

const LAST_ANCHORED = `
  SELECT b.number, t.target AS contract, encode(b.root, 'hex') AS root,
    encode(sha256(convert_to(b.statement, 'UTF8')), 'hex') AS digest
  FROM (SELECT * FROM settlement_batches ORDER BY number DESC LIMIT 20) b
  JOIN chain_transactions t ON t.purpose = 'settlement' AND t.subject_id = b.number::text AND t.state = 'mined'
  ORDER BY b.number DESC LIMIT 1`

async function readBook(client: Client) {
  const identity = await client.query<{ treasury: `0x${string}`; scanned_block: number }>(
    'SELECT treasury, scanned_block FROM chain_identity',
  )
  const row = identity.rows[0]
  if (row === undefined) return undefined
  const tokens = await client.query<Expected>(
    `SELECT o.token, (o.amount + coalesce(sum(CASE WHEN m.transfer_to = $1 THEN m.amount ELSE 0 END
       - CASE WHEN m.transfer_from = $1 THEN m.amount ELSE 0 END), 0))::text AS amount
     FROM chain_openings o LEFT JOIN (
       SELECT token, transfer_from, transfer_to, amount, block_number FROM chain_transactions WHERE state = 'mined'
       UNION ALL
       SELECT token, transfer_from, transfer_to, amount * transfers, block_number FROM chain_transfers_unclaimed
     ) m ON m.token = o.token AND m.block_number > o.block_number AND m.block_number <= $2
     GROUP BY o.token, o.amount ORDER BY o.token`,
    [row.treasury, row.scanned_block],
  )
  return { treasury: row.treasury, blockNumber: BigInt(row.scanned_block), tokens: tokens.rows }
}
