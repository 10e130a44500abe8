import { GRANTS } from './accountShapes.ts'
import { decimal, integer, is, joined, oneOf, orNull, pageOf, ref, said, shape, text, time } from './shape.ts'

const COIN = shape({ coin: decimal })

const AGENT_KEY = shape({ object: is('api_key'), id: text, agent: text, last4: text, issued_at: time })

const APPROVAL = shape({
  object: is('approval'),
  id: text,
  status: oneOf(['pending', 'approved', 'denied', 'used', 'expired']),
  subject: oneOf(['request', 'payment']),
  agent: text,
  'endpoint?': text,
  'model?': text,
  'to?': text,
  hold: ref('Amount'),
  request_id: text,
  used_by: said('The request that has used it', orNull(text)),
  expires_at: time,
  created_at: time,
  decided_at: orNull(time),
})

const PUBLIC = {
  object: is('agent'),
  id: text,
  slug: text,
  name: text,
  description: text,
  created_at: time,
}

const OWN = {
  balance: COIN,
  available: orNull(COIN),
  ...GRANTS,
  request_cap: said('The most USD that one request may cost', orNull(decimal)),
  approval_threshold: said('The USD above which its owner is asked', orNull(decimal)),
  key: orNull(AGENT_KEY),
}

const optional = (members: Readonly<Record<string, object>>) =>
  Object.fromEntries(Object.entries(members).map(([name, schema]) => [`${name}?`, schema as never]))

/** Agents, the approvals of their owners and their payments. */
export const AGENT_SHAPES = {
  Agent: shape({ ...PUBLIC, ...OWN }),
  SeenAgent: said('An agent; its owner sees the optional members as well', shape({ ...PUBLIC, ...optional(OWN) })),
  AgentList: pageOf(ref('Agent')),
  AgentRankList: pageOf(
    shape({ object: is('agent_rank'), rank: integer, slug: text, name: text, requests: integer, tokens: integer }),
    { days: integer },
  ),
  AgentKey: joined(AGENT_KEY, shape({ api_key: said('Shown this once', orNull(text)) })),
  AgentPayment: shape({
    object: is('payment'),
    id: text,
    from: text,
    to: text,
    amount: ref('Amount'),
    note: text,
    created_at: time,
  }),
  Approval: APPROVAL,
  ApprovalList: pageOf(ref('Approval')),
  ApprovalRequired: said(
    'The request waits for the approval of the owner; then it is sent again with x-approval-id',
    joined(shape({ type: is('approval_required'), message: text }), APPROVAL),
  ),
}
