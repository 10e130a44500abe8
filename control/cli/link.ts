import { GatewayError } from '../../contract/errors/errors.ts'
import type { linkJson } from '../products/transfers/links/linkHandlers.ts'
import { ownerOfLink } from '../products/transfers/links/links.ts'
import { type Arguments, argument, type CommandGroup, flag, UsageError } from './command.ts'
import type { CliContext } from './context.ts'
import { knownAccount } from './knownAccount.ts'
import { LIST_FLAGS, type ListJson, operate, pageOf, printList } from './operate.ts'
import { facts } from './table.ts'
import { amountOf, timeOf } from './values.ts'

type LinkJson = ReturnType<typeof linkJson> & { readonly token?: string }

const text = (link: LinkJson): string =>
  facts([
    ['link', link.id],
    ['status', link.status],
    ['coin', link.amount.coin],
    ['worth', `${link.amount.usd} USD`],
    ['note', link.note],
    ['expires', link.expires_at],
  ])

async function list(args: Arguments, context: CliContext): Promise<undefined> {
  const accountId = await knownAccount(args, context)
  const links = await operate<ListJson<LinkJson>>(context, 'list_links', { accountId, query: pageOf(args) })
  return printList(context, links, ['LINK', 'STATUS', 'COIN', 'EXPIRES', 'NOTE'], (link) => {
    return [link.id, link.status, link.amount.coin, link.expires_at, link.note]
  })
}

async function create(args: Arguments, context: CliContext): Promise<undefined> {
  const accountId = await knownAccount(args, context)
  const [amount, note, expires] = ['coin', 'note', 'expires'].map((name) => flag(args, name))
  if (amount === undefined) throw new UsageError('say how much the link holds: --coin 2.5')
  amountOf('coin', amount)
  if (expires !== undefined) timeOf('expires', expires)
  const body = { amount, ...(note !== undefined && { note }), ...(expires !== undefined && { expires_at: expires }) }
  const link = await operate<LinkJson>(context, 'create_link', { accountId, body })
  context.print(
    link,
    `${text(link)}\ntoken:    ${link.token}\nIt is shown only once; anybody who has it can claim the coin.`,
  )
}

async function claim(args: Arguments, context: CliContext): Promise<undefined> {
  const accountId = await knownAccount(args, context)
  const params = { token: argument(args, 'TOKEN') }
  const link = await operate<LinkJson>(context, 'claim_link', { accountId, params })
  context.print(link, text(link))
}

async function cancel(args: Arguments, context: CliContext): Promise<undefined> {
  const id = argument(args, 'ID')
  const accountId = await ownerOfLink(await context.pool(), id)
  if (accountId === undefined) throw new GatewayError('link_not_found')
  const link = await operate<LinkJson>(context, 'cancel_link', { accountId, params: { id } })
  context.print(link, text(link))
}

export const LINK: CommandGroup = {
  name: 'link',
  summary: 'payment links, which hold coin for the holder of a token',
  commands: [
    {
      synopsis: 'list <ACCOUNT>',
      summary: 'Lists the links of an account, newest first.',
      flags: LIST_FLAGS,
      run: list,
    },
    {
      synopsis: 'create <ACCOUNT>',
      summary: 'Creates a link with coin of an account. Its token is shown only once.',
      flags: {
        coin: { value: 'AMOUNT', help: 'amount, such as 2.5' },
        note: { value: 'TEXT', help: 'a note for the claimer' },
        expires: { value: 'TIME', help: 'when unclaimed coin is returned, such as 2027-01-31T12:00:00Z (in 30 days)' },
      },
      run: create,
    },
    { synopsis: 'claim <TOKEN> <ACCOUNT>', summary: 'Claims the coin of a link for an account.', run: claim },
    { synopsis: 'cancel <ID>', summary: 'Cancels an open link; its coin goes back to its account.', run: cancel },
  ],
}
