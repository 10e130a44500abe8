import { useState } from 'preact/hooks'
import { read, type Shape } from '../api/client.ts'
import { shownDecimal, shownUsd } from '../format/money.ts'
import { Pager, usePages } from '../parts/pager.tsx'
import { Card, Figure, Source } from '../parts/pieces.tsx'
import { Await, Empty, NeedsCredential } from '../parts/states.tsx'
import { useResource } from '../state/resource.ts'
import { credential } from '../state/session.ts'
import { Approvals } from './approvals.tsx'

type Agent = Shape<'Agent'>

const PAGE = 20

/** The agents of the account, and what waits for its approval. */
export function Agents() {
  return (
    <NeedsCredential>
      <AgentList />
    </NeedsCredential>
  )
}

function AgentList() {
  const pages = usePages()
  const who = credential.value?.token ?? ''
  const list = useResource(`${who} ${pages.after}`, async (signal) => {
    const query = { limit: PAGE, ...(pages.after !== '' && { after: pages.after }) }
    return { page: await read('/v1/agents', query, { signal }), readAt: new Date().toISOString() }
  })
  return (
    <Await of={list} what="agents">
      {({ page: { data, has_more: hasMore }, readAt }) =>
        data.length === 0 ? (
          <Empty title="The account has no agent yet">
            An agent has coin, a key and a policy of its own; it is made with POST /v1/agents.
          </Empty>
        ) : (
          <>
            {data.map((agent) => (
              <AgentCard key={agent.id} agent={agent} />
            ))}
            <Pager pages={pages} next={hasMore ? data.at(-1)?.id : undefined} />
            <Source of="the agents of the account, GET /v1/agents" until={readAt} />
          </>
        )
      }
    </Await>
  )
}

function AgentCard({ agent }: { readonly agent: Agent }) {
  const [isOpen, setOpen] = useState(false)
  const { slug, name, balance, available, approval_threshold: threshold, request_cap: cap, caps, key } = agent
  const limits = Object.entries(caps).filter((entry): entry is [string, string] => entry[1] !== null)
  return (
    <Card title={name === '' ? slug : name} aside={<code class="muted">{slug}</code>}>
      <dl class="figures">
        <Figure name="Coin" note={available === null ? '' : `${shownDecimal(available.coin)} not held`}>
          {shownDecimal(balance.coin)}
        </Figure>
        <Figure name="Asks its owner above">{threshold === null ? 'never' : shownUsd(threshold)}</Figure>
        <Figure name="One request at most">{cap === null ? 'no cap' : shownUsd(cap)}</Figure>
        <Figure name="Caps">
          {limits.length === 0 ? 'none' : limits.map(([window, most]) => `${shownUsd(most)} each ${window}`).join(', ')}
        </Figure>
        <Figure name="Key">{key === null ? 'none' : `…${key.last4}`}</Figure>
      </dl>
      <div class="actions">
        <button type="button" class="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          Waiting for approval
        </button>
      </div>
      {isOpen && <Approvals slug={slug} />}
    </Card>
  )
}
