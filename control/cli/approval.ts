import type { approvalJson } from '../products/agents/approvals.ts'
import { ownedAgent } from './agent.ts'
import { type Arguments, argument, type CommandGroup, flag } from './command.ts'
import type { CliContext } from './context.ts'
import { LIST_FLAGS, type ListJson, operate, pageOf, printList } from './operate.ts'
import { facts } from './table.ts'

type ApprovalJson = ReturnType<typeof approvalJson>

/** The subject of an approval: an endpoint with a model, or a payment to an agent. */
const subjectOf = (approval: ApprovalJson): string =>
  'to' in approval ? `payment to ${approval.to}` : `${approval.endpoint} with ${approval.model}`

async function list(args: Arguments, context: CliContext): Promise<undefined> {
  const { slug, ownerId } = await ownedAgent(args, context)
  const query = { ...pageOf(args), status: flag(args, 'status') ?? 'pending' }
  const request = { accountId: ownerId, params: { slug }, query }
  const approvals = await operate<ListJson<ApprovalJson>>(context, 'list_approvals', request)
  return printList(context, approvals, ['APPROVAL', 'STATUS', 'USD', 'FOR', 'EXPIRES'], (approval) => {
    return [approval.id, approval.status, approval.hold.usd, subjectOf(approval), approval.expires_at]
  })
}

const decide =
  (decision: 'approve' | 'deny') =>
  async (args: Arguments, context: CliContext): Promise<undefined> => {
    const { slug, ownerId } = await ownedAgent(args, context)
    const request = { accountId: ownerId, params: { slug, id: argument(args, 'ID') } }
    const approval = await operate<ApprovalJson>(context, decision, request)
    context.print(
      approval,
      facts([
        ['approval', approval.id],
        ['agent', slug],
        ['status', approval.status],
        ['for', subjectOf(approval)],
        ['at most', `${approval.hold.usd} USD`],
      ]),
    )
  }

export const APPROVAL: CommandGroup = {
  name: 'approval',
  summary: 'requests of agents that wait for their owner',
  commands: [
    {
      synopsis: 'list <SLUG>',
      summary: 'Lists the requests and payments of an agent that wait for its owner.',
      flags: {
        ...LIST_FLAGS,
        status: { value: 'STATUS', help: 'pending, approved, denied, used, expired, all (pending)' },
      },
      run: list,
    },
    { synopsis: 'approve <SLUG> <ID>', summary: 'Approves the request; it may run once.', run: decide('approve') },
    { synopsis: 'deny <SLUG> <ID>', summary: 'Denies the request.', run: decide('deny') },
  ],
}
