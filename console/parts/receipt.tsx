import type { Shape } from '../api/client.ts'
import { grouped, permille, shownUnits, shownUsd, unitsOf } from '../format/money.ts'
import { shownDuration } from '../format/time.ts'
import { UNKNOWN } from '../format/unknown.ts'
import { Badge, Card, Figure, Time } from './pieces.tsx'

type Receipt = Shape<'Receipt'>
const PERMILLE_PER_PERCENT = 10

/** What was held, what of it was charged, and what was given back. */
export function HoldBar({ hold, cost }: Pick<Receipt, 'hold' | 'cost'>) {
  const [held, charged] = [unitsOf(hold.units), unitsOf(cost.units)]
  const share = permille(charged, held) / PERMILLE_PER_PERCENT
  return (
    <div class="hold">
      <div class="hold-bar" aria-hidden="true">
        <i style={{ width: `${share}%` }} />
      </div>
      <dl class="figures">
        <Figure name="Charged">{shownUsd(cost.usd)}</Figure>
        <Figure name="Held">{shownUsd(hold.usd)}</Figure>
        <Figure name="Given back">{shownUnits(held - charged)}</Figure>
      </dl>
    </div>
  )
}

/** The figures of a receipt. */
export function ReceiptCard({ receipt }: { readonly receipt: Receipt }) {
  const { usage, error, tags, lock, user } = receipt
  return (
    <Card title={receipt.model} aside={<Badge state={receipt.status} />}>
      <HoldBar hold={receipt.hold} cost={receipt.cost} />
      <dl class="figures facts">
        <Figure name="Request">
          <code>{receipt.request_id}</code>
        </Figure>
        <Figure name="Time (UTC)">
          <Time of={receipt.created} />
        </Figure>
        <Figure name="First token">{shownDuration(receipt.first_token_ms)}</Figure>
        <Figure name="Time taken">
          {shownDuration(receipt.duration_ms)}
          {receipt.streamed ? ', streamed' : ''}
        </Figure>
        <Figure name="Tries">{receipt.tries ?? UNKNOWN}</Figure>
        <Figure name="Endpoint">{receipt.endpoint}</Figure>
        <Figure name="Input tokens">
          {grouped(usage.prompt_tokens)}
          {usage.cached_tokens > 0 && `, ${grouped(usage.cached_tokens)} cached`}
        </Figure>
        <Figure name="Output tokens">{grouped(usage.completion_tokens)}</Figure>
        <Figure name="Usage">{receipt.usage_source}</Figure>
        <Figure name="Price sheet">{receipt.price_sheet}</Figure>
        {error !== null && (
          <Figure name="Error">
            <code>{error}</code>
          </Figure>
        )}
        {lock !== undefined && <Figure name="Tokens of a compute lock">{lock.tokens}</Figure>}
        {user !== undefined && <Figure name="User">{user}</Figure>}
        {tags !== undefined && Object.keys(tags).length > 0 && (
          <Figure name="Tags">
            {Object.entries(tags)
              .map(([name, value]) => `${name}=${value}`)
              .join(', ')}
          </Figure>
        )}
      </dl>
    </Card>
  )
}
