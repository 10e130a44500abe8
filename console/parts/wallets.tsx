import { useState } from 'preact/hooks'
import type { ApiError } from '../api/apiError.ts'
import { change, read, type Shape } from '../api/client.ts'
import { asApiError, useResource } from '../state/resource.ts'
import { credential } from '../state/session.ts'
import { proveWallet } from '../wallet/prove.ts'
import { Card, Source, Time } from './pieces.tsx'
import { Await, Failure } from './states.tsx'
import { type Column, Table } from './table.tsx'
import { WalletButtons } from './walletButtons.tsx'

type Wallet = Shape<'Wallet'>

/** The wallets that are linked to the account; others are linked by their signature. */
export function Wallets() {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<ApiError>()
  const list = useResource(credential.value?.token ?? '', async (signal) => ({
    wallets: (await read('/v1/account/wallets', undefined, { signal })).data,
    readAt: new Date().toISOString(),
  }))
  const act = async (work: () => Promise<unknown>) => {
    setBusy(true)
    setError(undefined)
    await work()
      .then(list.again, (failure: unknown) => setError(asApiError(failure)))
      .finally(() => setBusy(false))
  }
  const unlink = (address: string) => {
    if (confirm(`Unlink the wallet ${address}? It cannot sign in any more.`))
      void act(() => change('delete', '/v1/account/wallets/{address}', undefined, { address }))
  }
  return (
    <Card title="Wallets">
      <Await of={list} what="wallets">
        {({ wallets, readAt }) => (
          <div>
            <Table caption="Linked wallets" columns={columnsOf(isBusy, unlink)} rows={wallets} keyOf={addressOf} />
            <Source of="the wallets of the account, GET /v1/account/wallets" until={readAt} />
          </div>
        )}
      </Await>
      <h3>Link another wallet</h3>
      <WalletButtons
        action="Link"
        isBusy={isBusy}
        onPick={({ provider }) =>
          act(async () =>
            change('post', '/v1/account/wallets', await proveWallet(provider, 'Link this wallet to your account.')),
          )
        }
      />
      {error !== undefined && <Failure error={error} />}
      <p class="note">A linked wallet may sign in to the account, and its deposits are credited to it.</p>
    </Card>
  )
}

const addressOf = ({ address }: Wallet): string => address

const columnsOf = (isBusy: boolean, unlink: (address: string) => void): readonly Column<Wallet>[] => [
  { name: 'Address', cell: ({ address }) => <code class="address">{address}</code> },
  { name: 'Linked (UTC)', cell: ({ linked_at: at }) => at !== undefined && <Time of={at} /> },
  {
    name: 'Change',
    cell: ({ address }) => (
      <button type="button" class="danger" disabled={isBusy} onClick={() => unlink(address)}>
        Unlink
      </button>
    ),
  },
]
