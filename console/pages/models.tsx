import { useState } from 'preact/hooks'
import { read, type Shape } from '../api/client.ts'
import { grouped, shownDecimal } from '../format/money.ts'
import { UNKNOWN } from '../format/unknown.ts'
import { Badge, Card, Source } from '../parts/pieces.tsx'
import { Await, Empty } from '../parts/states.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { useResource } from '../state/resource.ts'

type SheetModel = Shape<'PriceSheet'>['models'][number]

/** Units of prices as they are read beside an amount. */
const PER: Readonly<Record<string, string>> = {
  million_tokens: 'per million tokens',
  image: 'per image',
  million_characters: 'per million characters',
  second: 'per second',
  search: 'per search',
}
/** Prices with a column of their own in the table of models that are priced by the token. */
const TOKEN_PRICES = ['input', 'cached_input', 'output'] as const

/** Models and prices: public. */
export function Models() {
  const sheet = useResource('sheet', (signal) => read('/v1/pricing', undefined, { signal }))
  return (
    <Await of={sheet} what="models">
      {(value) => <Sheet sheet={value} />}
    </Await>
  )
}

function Sheet({ sheet }: { readonly sheet: Shape<'PriceSheet'> }) {
  const [wanted, setWanted] = useState('')
  const text = wanted.trim().toLowerCase()
  const found = sheet.models.filter(({ id, name, owned_by: maker }) =>
    [id, name, maker].some((value) => value.toLowerCase().includes(text)),
  )
  const byToken = found.filter(({ unit }) => unit === 'million_tokens')
  const others = found.filter(({ unit }) => unit !== 'million_tokens')
  return (
    <div class="stack">
      <div class="bar">
        <label class="search">
          <span class="visually-hidden">Find a model</span>
          <input
            type="search"
            placeholder="Find a model or maker"
            value={wanted}
            onInput={(event) => setWanted(event.currentTarget.value)}
          />
        </label>
        <p class="muted">
          Price sheet {sheet.version}; its rates hold until {sheet.rate_lock.valid_until.slice(0, 10)}
        </p>
      </div>
      {found.length === 0 && <Empty title="No model has this name" />}
      {byToken.length > 0 && (
        <Card title="Priced by the token" aside={<span class="muted">USD per million tokens</span>}>
          <Table
            caption="Models that are priced by the token"
            columns={tokenColumns}
            rows={byToken}
            keyOf={({ id }) => id}
          />
        </Card>
      )}
      {others.length > 0 && (
        <Card title="Images, audio, video, search">
          <Table caption="Models with other prices" columns={otherColumns} rows={others} keyOf={({ id }) => id} />
        </Card>
      )}
      <Source of="the price sheet, GET /v1/pricing" until={new Date().toISOString()} />
    </div>
  )
}

const nameColumn: Column<SheetModel> = {
  name: 'Model',
  cell: ({ id, name, attested }) => (
    <>
      <strong class="model-name">{name}</strong> {attested === true && <Badge state="attested" />}
      <br />
      <code class="muted">{id}</code>
    </>
  ),
}
const stateColumn: Column<SheetModel> = {
  name: 'Now',
  cell: ({ available }) => <Badge state={available ? 'available' : 'unavailable'} />,
}

const priceNames: Readonly<Record<(typeof TOKEN_PRICES)[number], string>> = {
  input: 'Input',
  cached_input: 'Cached input',
  output: 'Output',
}

const tokenColumns: readonly Column<SheetModel>[] = [
  nameColumn,
  { name: 'Context', isNumber: true, cell: ({ context }) => (context === null ? '' : grouped(context)) },
  ...TOKEN_PRICES.map(
    (name): Column<SheetModel> => ({
      name: priceNames[name],
      isNumber: true,
      cell: ({ price }) => priceText(price[name]),
    }),
  ),
  { name: 'Batch output', isNumber: true, cell: ({ price }) => priceText(price['batch_output']) },
  stateColumn,
]

const otherColumns: readonly Column<SheetModel>[] = [
  nameColumn,
  { name: 'Kind', cell: ({ modality }) => modality },
  {
    name: 'Price',
    isNumber: true,
    cell: ({ price, unit }) => {
      const first = Object.values(price).find((value) => typeof value === 'string')
      return first === undefined ? '' : `${priceText(first)} ${PER[unit] ?? `per ${unit.replaceAll('_', ' ')}`}`
    },
  },
  stateColumn,
]

function priceText(price: unknown): string {
  return typeof price === 'string' ? `$${shownDecimal(price)}` : UNKNOWN
}
