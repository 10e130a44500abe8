import { randomBytes } from 'node:crypto'
import type { PaymentAsset } from '../../contract/payments/terms.ts'
import type { Queryable } from '../runtime/db/pool.ts'
import { type ChainClient, chainUnavailable, isUnanswered, readChain } from './chainClient.ts'
import { openSender } from './outbox.ts'
import type { PaymentsConfig } from './paymentsConfig.ts'
import { PAYMENT_ABI } from './settlementCall.ts'

/** Valid symbols of tokens: one line of few characters. */
const SYMBOL = /^[^\p{C}]{1,32}$/u

/** The chain is not the one that the book is bound to, so the book's records do not apply to it. */
class WrongChainError extends Error {
  override readonly name = 'WrongChainError'
}

interface IdentityRow {
  readonly chain_id: number
  readonly genesis_hash: string
  readonly treasury: string
  readonly quote_secret: Buffer
}

/**
 * Binds the book to its chain at the first start, and checks at every other start that it is the same one; begins to count
 * the nonces of the keys and the treasury's tokens.
 * @returns the key of the MACs of quotes
 * @throws WrongChainError; GatewayError chain_unavailable
 */
export async function bindChain(db: Queryable, chain: ChainClient, config: PaymentsConfig): Promise<Buffer> {
  const [chainId, genesis, head] = await readChain(() =>
    Promise.all([chain.getChainId(), chain.getBlock({ blockNumber: 0n }), chain.getBlockNumber()]),
  )
  if (chainId !== config.chainId) {
    throw new WrongChainError(`CHAIN_RPC_URL leads to chain ${chainId}; the payments file says ${config.chainId}`)
  }
  const row = await identityOf(db, config, genesis.hash, head)
  if (row.chain_id !== chainId || row.genesis_hash !== genesis.hash) {
    const what = `chain ${chainId} with genesis ${genesis.hash}`
    throw new WrongChainError(
      `the book is bound to chain ${row.chain_id} with genesis ${row.genesis_hash}, not ${what}`,
    )
  }
  if (row.treasury !== config.treasury.address) {
    throw new WrongChainError(`the book's treasury is ${row.treasury}, SLUICE_TREASURY_KEY is of another address`)
  }
  for (const { address } of [config.treasury, ...config.relayers]) {
    const nonce = await readChain(() => chain.getTransactionCount({ address, blockTag: 'latest' }))
    await openSender(db, address, nonce)
  }
  await openTokens(db, chain, config)
  for (const asset of config.assets) await describeToken(db, chain, asset)
  return row.quote_secret
}

async function identityOf(
  db: Queryable,
  config: PaymentsConfig,
  genesisHash: string,
  head: bigint,
): Promise<IdentityRow> {
  await db.query(
    `INSERT INTO chain_identity (chain_id, genesis_hash, treasury, quote_secret, scanned_block)
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
    [config.chainId, genesisHash, config.treasury.address, randomBytes(32), Number(head)],
  )
  const found = await db.query<IdentityRow>('SELECT chain_id, genesis_hash, treasury, quote_secret FROM chain_identity')
  const row = found.rows[0]
  if (row === undefined) throw new Error('the book has lost what chain it is bound to')
  return row
}

/** Records the treasury's balance of a token that is configured for the first time; every later transfer is counted. */
async function openTokens(db: Queryable, chain: ChainClient, config: PaymentsConfig): Promise<void> {
  const scanned = await db.query<{ scanned_block: number }>('SELECT scanned_block FROM chain_identity')
  const blockNumber = BigInt(scanned.rows[0]?.scanned_block ?? 0)
  for (const { address } of config.assets) {
    const known = await db.query('SELECT FROM chain_openings WHERE token = $1', [address])
    if (known.rowCount !== 0) continue
    const amount = await readChain(() =>
      chain.readContract({
        abi: PAYMENT_ABI,
        address,
        functionName: 'balanceOf',
        args: [config.treasury.address],
        blockNumber,
      }),
    )
    await db.query(
      'INSERT INTO chain_openings (token, block_number, amount) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
      [address, Number(blockNumber), amount.toString()],
    )
  }
}

/** Stores the displayed name of a token: its symbol, or the name in the payments file if its contract has no symbol. */
async function describeToken(
  db: Queryable,
  chain: ChainClient,
  { address, name, decimals }: PaymentAsset,
): Promise<void> {
  const known = await db.query('SELECT FROM chain_openings WHERE token = $1 AND decimals = $2', [address, decimals])
  if (known.rowCount !== 0) return
  const told = await chain
    .readContract({ abi: PAYMENT_ABI, address, functionName: 'symbol' })
    .catch((error: unknown) => {
      if (isUnanswered(error)) throw chainUnavailable(error)
      return ''
    })
  const symbol = SYMBOL.test(told) ? told : name
  await db.query('UPDATE chain_openings SET symbol = $2, decimals = $3 WHERE token = $1', [address, symbol, decimals])
}
