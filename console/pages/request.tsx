import { ApiError } from '../api/apiError.ts'
import { read, type Shape } from '../api/client.ts'
import { shownDecimal } from '../format/money.ts'
import { Badge, Card, Code, Source } from '../parts/pieces.tsx'
import { ProofCard } from '../parts/proof.tsx'
import { ReceiptCard } from '../parts/receipt.tsx'
import { Await } from '../parts/states.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { useResource } from '../state/resource.ts'
import { credential } from '../state/session.ts'
import type { PageProps } from './pageProps.ts'

type Refusal = Shape<'ExplainedRequest'>
type Found = { readonly receipt: Shape<'Receipt'> } | { readonly refusal: Refusal }

/** The receipt of a request with its proof, or why it was refused. */
export function RequestPage({ id }: PageProps) {
  const who = credential.value?.token ?? ''
  const found = useResource(`${who} ${id}`, (signal) => readRequest(id, who !== '', signal))
  return (
    <Await of={found} what="the request">
      {(value) => ('receipt' in value ? <WithReceipt receipt={value.receipt} /> : <Refused refusal={value.refusal} />)}
    </Await>
  )
}

/** Receipts are public; why a request was refused is its account's matter. */
async function readRequest(id: string, isSignedIn: boolean, signal: AbortSignal): Promise<Found> {
  const params = { id }
  if (isSignedIn) {
    try {
      const explained = await read('/v1/account/requests/{id}', undefined, { params, signal })
      return explained.receipt === null ? { refusal: explained } : { receipt: explained.receipt }
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error
    }
  }
  return { receipt: await read('/x402/v1/receipts/{id}', undefined, { params, signal }) }
}

function WithReceipt({ receipt }: { readonly receipt: Shape<'Receipt'> }) {
  return (
    <div class="stack">
      <ReceiptCard receipt={receipt} />
      <ProofCard id={receipt.request_id} />
      <Card title="The receipt as JSON">
        <Code text={JSON.stringify(receipt, null, 2)} label="the receipt" />
        <Source of="the book" until={new Date().toISOString()} />
      </Card>
    </div>
  )
}

type Check = Refusal['checks'][number]

const columns: readonly Column<Check>[] = [
  { name: 'Check', cell: ({ check, subject }) => `${words(check)}${subject === null ? '' : ` (${subject})`}` },
  { name: 'Result', cell: ({ result }) => <Badge state={result} /> },
  { name: 'Needed', isNumber: true, cell: ({ needed, unit }) => amount(needed, unit) },
  { name: 'Available', isNumber: true, cell: ({ available, unit }) => amount(available, unit) },
  { name: 'Used', isNumber: true, cell: ({ used, unit }) => amount(used, unit) },
  { name: 'Limit', isNumber: true, cell: ({ limit, unit }) => amount(limit, unit) },
]

function Refused({ refusal }: { readonly refusal: Refusal }) {
  const { error, id, checks, model, route, refused_at: at } = refusal
  return (
    <div class="stack">
      <Card title="Refused" aside={<code class="muted">{id}</code>}>
        {error !== null && (
          <>
            <p>
              <strong>{error.status}</strong> <code>{error.code}</code>
            </p>
            <p>{error.message}</p>
          </>
        )}
        <p class="note">{[route, model].filter((part) => part !== null).join(', ')}; nothing was charged.</p>
      </Card>
      <Card title="Checks, in their order">
        <Table caption="Checks" columns={columns} rows={checks} keyOf={({ check, subject }) => `${check} ${subject}`} />
        <Source of="the record of the refusal, GET /v1/account/requests/{id}" until={at ?? new Date().toISOString()} />
      </Card>
    </div>
  )
}

const words = (name: string): string => name.replaceAll('_', ' ')

function amount(value: string | null, unit: string | null): string {
  if (value === null) return ''
  return unit === 'usd' ? `$${shownDecimal(value)}` : `${shownDecimal(value, 0)} ${words(unit ?? '')}`
}
