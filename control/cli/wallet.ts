import { accountOf, UnknownAccountError } from '../identity/accounts/accounts.ts'
import { newLinkCode } from '../identity/wallets/linkCodes.ts'
import { linkWallet, listWallets, unlinkWallet } from '../identity/wallets/wallets.ts'
import { OPERATOR } from '../runtime/activity/activity.ts'
import { type Pool, withTransaction } from '../runtime/db/pool.ts'
import { type Arguments, argument, type CommandGroup } from './command.ts'
import type { CliContext } from './context.ts'
import { facts, table } from './table.ts'
import { addressOf, checksummed, formatTime } from './values.ts'

async function knownAccount(args: Arguments, pool: Pool): Promise<string> {
  const accountId = argument(args, 'ACCOUNT')
  if ((await accountOf(pool, accountId)) === undefined) throw new UnknownAccountError(accountId)
  return accountId
}

async function print(context: CliContext, pool: Pool, accountId: string): Promise<undefined> {
  const linked = await listWallets(pool, accountId)
  const addresses = await checksummed(linked.map(({ address }) => address))
  const wallets = linked.map(({ linkedAtMs }, i) => ({
    address: addresses[i] ?? '',
    linked_at: formatTime(linkedAtMs),
  }))
  const rows = wallets.map((wallet) => [wallet.address, wallet.linked_at])
  const text = rows.length === 0 ? 'no wallet is linked' : table(['WALLET', 'LINKED'], rows)
  context.print({ account_id: accountId, data: wallets }, text)
}

async function list(args: Arguments, context: CliContext): Promise<undefined> {
  const pool = await context.pool()
  return print(context, pool, await knownAccount(args, pool))
}

async function link(args: Arguments, context: CliContext): Promise<undefined> {
  const address = addressOf(argument(args, 'ADDRESS'))
  const pool = await context.pool()
  const accountId = await knownAccount(args, pool)
  await withTransaction(pool, (client) => linkWallet(client, OPERATOR, accountId, address, context.limits))
  return print(context, pool, accountId)
}

async function unlink(args: Arguments, context: CliContext): Promise<undefined> {
  const address = addressOf(argument(args, 'ADDRESS'))
  const pool = await context.pool()
  const accountId = await knownAccount(args, pool)
  await withTransaction(pool, (client) => unlinkWallet(client, OPERATOR, accountId, address, false))
  return print(context, pool, accountId)
}

async function code(args: Arguments, context: CliContext): Promise<undefined> {
  const pool = await context.pool()
  const accountId = await knownAccount(args, pool)
  const made = await withTransaction(pool, (client) => newLinkCode(client, OPERATOR, accountId, context.limits))
  const expires = formatTime(made.expiresAtMs)
  context.print(
    { account_id: accountId, code: made.code, expires_at: expires },
    `${facts([
      ['account', accountId],
      ['code', made.code],
      ['expires', expires],
    ])}\nIt is shown only once and works once: POST /v1/auth/link.`,
  )
}

export const WALLET: CommandGroup = {
  name: 'wallet',
  summary: 'link the wallets that sign in to an account',
  commands: [
    { synopsis: 'list <ACCOUNT>', summary: 'Lists the wallets of an account.', run: list },
    { synopsis: 'link <ACCOUNT> <ADDRESS>', summary: 'Lets this wallet sign in to the account.', run: link },
    { synopsis: 'unlink <ACCOUNT> <ADDRESS>', summary: 'Unlinks the wallet and ends its sessions.', run: unlink },
    {
      synopsis: 'code <ACCOUNT>',
      summary: 'Creates a one-time code with which the owner links a wallet. It is shown only once.',
      run: code,
    },
  ],
}
