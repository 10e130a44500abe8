import type { MadeTransfer } from '../chain/outcomeSearch.ts'
import type { TransactionRow } from '../chain/transactionRow.ts'
import { withTransaction } from '../runtime/db/pool.ts'
import { type Arguments, argument, type Command, flag, UsageError } from './command.ts'
import { type CliContext, CommandError } from './context.ts'
import { table } from './table.ts'

const SHOWN_MAX = 100
const HASH = /^0x[0-9a-f]{64}$/

// Each command loads what it needs, because that takes as long as all the rest of it.
const loadStuck = async () => {
  const [stuck, { PRODUCTS, outcomesOf }, { createChainClient }] = await Promise.all([
    import('../chain/stuckTransactions.ts'),
    import('../service/products.ts'),
    import('../chain/chainClient.ts'),
  ])
  return { ...stuck, outcomes: outcomesOf(PRODUCTS), createChainClient }
}

function shown({ id, purpose, ref, sender, nonce, transfer, attempts }: TransactionRow) {
  return {
    id,
    purpose,
    ref,
    sender: sender ?? null,
    nonce,
    token: transfer?.token ?? null,
    to: transfer?.to ?? null,
    amount: transfer?.amount.toString() ?? null,
    hashes: attempts.map(({ hash }) => hash),
  }
}

async function stuck(_args: Arguments, context: CliContext): Promise<undefined> {
  const { stuckTransactions } = await import('../chain/transactionRow.ts')
  const rows = (await stuckTransactions(await context.pool(), SHOWN_MAX)).map(shown)
  const cells = rows.map(({ id, purpose, ref, sender, nonce, to, amount }) => {
    return [String(id), purpose, ref, sender ?? '', String(nonce), to ?? '', amount ?? '']
  })
  const text = table(['ID', 'FOR', 'REF', 'SENDER', 'NONCE', 'TO', 'AMOUNT'], cells)
  context.print({ data: rows }, rows.length === 0 ? 'no transaction is stuck' : text)
}

async function release(args: Arguments, context: CliContext): Promise<undefined> {
  const { stuckTransaction, releaseStuck, outcomes, createChainClient } = await loadStuck()
  const { searchOutcome } = await import('../chain/outcomeSearch.ts')
  const [pool, id, reason] = [await context.pool(), idOf(args), reasonOf(args)]
  const row = await stuckTransaction(pool, id)
  const chain = createChainClient(rpcUrlOf(context), context.limits)
  const found = await searchOutcome(chain, row, context.limits)
  if (found.kind === 'made') throw new CommandError(`it was made by ${found.hash}; control will book that by itself`)
  const next = row.sender === undefined ? 0 : await chain.getTransactionCount({ address: row.sender })
  await releaseStuck(pool, outcomes, row, next, reason)
  context.print(
    { id, state: 'displaced' },
    `transaction ${id} counts as not made; ${row.purpose} ${row.ref} is sent again`,
  )
}

async function settle(args: Arguments, context: CliContext): Promise<undefined> {
  const { stuckTransaction, settleStuck, outcomes, createChainClient } = await loadStuck()
  const { hasTransferred } = await import('../chain/transferLog.ts')
  const [pool, id, reason] = [await context.pool(), idOf(args), reasonOf(args)]
  const hash = argument(args, 'HASH').toLowerCase()
  if (!HASH.test(hash)) throw new UsageError('HASH is 0x and the 64 hex digits of a transaction')
  const row = await stuckTransaction(pool, id)
  const chain = createChainClient(rpcUrlOf(context), context.limits)
  const receipt = await chain.getTransactionReceipt({ hash: hash as `0x${string}` }).catch((error: Error) => {
    throw new CommandError(`${hash} cannot be read: ${error.message.split('\n')[0]}`)
  })
  if (row.transfer === undefined || !hasTransferred(receipt, row.transfer)) {
    throw new CommandError(`${hash} does not make the transfer of transaction ${id}`)
  }
  const { transactionHash, blockNumber, blockHash } = receipt
  const made: MadeTransfer = { kind: 'made', hash: transactionHash, blockNumber: Number(blockNumber), blockHash }
  await settleStuck(pool, outcomes, row, made, reason)
  context.print({ id, state: 'mined', hash }, `transaction ${id} counts as made by ${hash}`)
}

async function retry(args: Arguments, context: CliContext): Promise<undefined> {
  const { allowAttempts } = await import('../service/moreAttempts.ts')
  const [id, reason] = [argument(args, 'ID'), reasonOf(args)]
  const isAllowed = await withTransaction(await context.pool(), (client) =>
    allowAttempts(client, id, reason, context.limits),
  )
  if (!isAllowed) throw new CommandError(`there is no withdrawal, refund or payout ${id} that is not sent`)
  context.print({ id }, `${id} is sent again`)
}

async function unclaimed(_args: Arguments, context: CliContext): Promise<undefined> {
  const { unclaimedTransfers } = await import('../chain/unclaimedTransfers.ts')
  const rows = await unclaimedTransfers(await context.pool(), SHOWN_MAX)
  const cells = rows.map(({ hash, block, token, from, to, amount, transfers }) => {
    return [hash, String(block), token, from, to, amount, String(transfers)]
  })
  const text = table(['TRANSACTION', 'BLOCK', 'TOKEN', 'FROM', 'TO', 'AMOUNT', 'TRANSFERS'], cells)
  context.print({ data: rows }, rows.length === 0 ? 'every transfer of the treasury is claimed' : text)
}

function idOf(args: Arguments): number {
  const id = Number(argument(args, 'ID'))
  if (Number.isSafeInteger(id) && id > 0) return id
  throw new UsageError('ID is the number of a transaction, see `chain stuck`')
}

function reasonOf(args: Arguments): string {
  const reason = (flag(args, 'reason') ?? '').trim()
  if (reason === '') throw new UsageError('--reason is missing: it is kept in the trail')
  return reason
}

function rpcUrlOf({ chainRpcUrl }: CliContext): string {
  if (chainRpcUrl === undefined) throw new CommandError('the chain is not known: set CHAIN_RPC_URL')
  return chainRpcUrl
}

const REASON = { value: 'TEXT', help: 'why; kept in the trail' }

/** Commands for what the gateway does not decide by itself about its transactions. */
export const CHAIN_DECISIONS: readonly Command[] = [
  {
    synopsis: 'stuck',
    summary: 'Lists transactions whose outcome is not known; their key sends nothing else.',
    run: stuck,
  },
  {
    synopsis: 'unclaimed',
    summary:
      'Lists transfers to or from the treasury that no payment, deposit or other purpose has claimed, newest first.',
    run: unclaimed,
  },
  {
    synopsis: 'release <ID>',
    summary:
      'Declares that a stuck transaction was not made: what it is for is sent again. Refused if the chain shows it.',
    flags: { reason: REASON },
    run: release,
  },
  {
    synopsis: 'settle <ID> <HASH>',
    summary: 'Declares that another transaction made the transfer of a stuck one; the chain has to show that it did.',
    flags: { reason: REASON },
    run: settle,
  },
  {
    synopsis: 'retry <ID>',
    summary:
      'Sends a withdrawal, a refund, or a payout (reward/PERIOD, vault/PERIOD) again whose attempts are used up.',
    run: retry,
  },
]
