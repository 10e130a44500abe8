import { accountOf, UnknownAccountError } from '../identity/accounts/accounts.ts'
import { type Arguments, argument } from './command.ts'
import type { CliContext } from './context.ts'

/** The account that the argument ACCOUNT names. @throws UnknownAccountError */
export async function knownAccount(args: Arguments, context: CliContext): Promise<string> {
  const accountId = argument(args, 'ACCOUNT')
  if ((await accountOf(await context.pool(), accountId)) === undefined) throw new UnknownAccountError(accountId)
  return accountId
}
