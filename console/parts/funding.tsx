import { read, type Shape } from '../api/client.ts'
import { shownUsd } from '../format/money.ts'
import { useResource } from '../state/resource.ts'
import { credential } from '../state/session.ts'
import { Card, Code, Figure } from './pieces.tsx'
import { Empty, Loading } from './states.tsx'
import { type Column, Table } from './table.tsx'

type Asset = Shape<'Funding'>['assets'][number]

const columns: readonly Column<Asset>[] = [
  { name: 'Asset', cell: ({ id }) => id },
  { name: 'Token', cell: ({ address }) => <code class="address">{address}</code> },
  { name: 'USD', isNumber: true, cell: ({ usd }) => shownUsd(usd) },
]

/** Where deposits are sent; a gateway without a chain takes none, and says so. */
export function Funding() {
  const funding = useResource(credential.value?.token ?? '', (signal) =>
    read('/v1/account/funding', undefined, { signal }),
  )
  return (
    <Card title="Deposit">
      {funding.error !== undefined && <Empty title={funding.error.message} />}
      {funding.state === 'loading' && <Loading what="the address of deposits" />}
      {funding.value !== undefined && <Address funding={funding.value} />}
    </Card>
  )
}

function Address({ funding }: { readonly funding: Shape<'Funding'> }) {
  return (
    <div class="stack">
      <p>Send one of these tokens from a wallet that is linked to the account:</p>
      <Code text={funding.address} label="the address of deposits" />
      <Table caption="Tokens for deposits" columns={columns} rows={funding.assets} keyOf={({ id }) => id} />
      <dl class="figures facts-only">
        <Figure name="Network">{funding.network}</Figure>
        <Figure name="Least deposit">{shownUsd(funding.deposit_minimum.usd)}</Figure>
        <Figure name="Confirmations">{funding.deposit_confirmations}</Figure>
      </dl>
    </div>
  )
}
