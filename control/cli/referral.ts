import type { referralsJson } from '../products/transfers/referrals/referralHandlers.ts'
import { type Arguments, argument, type CommandGroup } from './command.ts'
import type { CliContext } from './context.ts'
import { knownAccount } from './knownAccount.ts'
import { LIST_FLAGS, operate, pageOf } from './operate.ts'
import { facts, table } from './table.ts'

type ReferralsJson = Awaited<ReturnType<typeof referralsJson>>

async function show(args: Arguments, context: CliContext): Promise<undefined> {
  const accountId = await knownAccount(args, context)
  const found = await operate<ReferralsJson>(context, 'get_referrals', { accountId, query: pageOf(args) })
  const rows = found.data.map((referral) => [referral.id, referral.earned.coin, referral.attached_at])
  const text = facts([
    ['account', accountId],
    ['code', found.code],
    ['share', `${found.share_percent} %`],
    ['brought', String(found.referred)],
    ['earned', `${found.earned.coin} coin`],
    ['was brought', found.referred_at ?? 'by nobody'],
  ])
  context.print(found, rows.length === 0 ? text : `${text}\n\n${table(['REFERRAL', 'COIN', 'SINCE'], rows)}`)
  if (found.has_more) context.warn(`there are more: --after ${found.data.at(-1)?.id}`)
}

async function attach(args: Arguments, context: CliContext): Promise<undefined> {
  const accountId = await knownAccount(args, context)
  const body = { code: argument(args, 'CODE') }
  const referral = await operate<{ id: string }>(context, 'attach_referral', { accountId, body })
  context.print(referral, `${referral.id}: ${accountId} is attached, for good`)
}

export const REFERRAL: CommandGroup = {
  name: 'referral',
  summary: 'referrals, and their earnings',
  commands: [
    {
      synopsis: 'show <ACCOUNT>',
      summary: 'Shows the code of an account, the accounts it referred, and its earnings.',
      flags: LIST_FLAGS,
      run: show,
    },
    {
      synopsis: 'attach <ACCOUNT> <CODE>',
      summary: 'Attaches an account to the account that referred it, permanently.',
      run: attach,
    },
  ],
}
