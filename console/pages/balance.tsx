import { read, type Shape, send, withCredential } from '../api/client.ts'
import { shownDecimal } from '../format/money.ts'
import { monthsBetween } from '../format/time.ts'
import { Funding } from '../parts/funding.tsx'
import { Pager, usePages } from '../parts/pager.tsx'
import { Badge, Card, Figure, Source, Time } from '../parts/pieces.tsx'
import { StatementPicker } from '../parts/statementPicker.tsx'
import { Await, Empty, NeedsCredential } from '../parts/states.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { Wallets } from '../parts/wallets.tsx'
import { useResource } from '../state/resource.ts'
import { credential } from '../state/session.ts'

type Account = Shape<'Account'>
type Grant = Account['credits'][number]
type Deposit = Shape<'DepositList'>['data'][number]

const PAGE = 20
/** How many months back the year's statements go. */
const MONTHS_SHOWN = 12

/** Balances, credit grants, deposits, wallets and statements of the account. */
export function Balance() {
  return (
    <NeedsCredential session>
      <div class="stack">
        <AccountCards />
        <Funding />
        <Wallets />
        <Deposits />
      </div>
    </NeedsCredential>
  )
}

const grantColumns: readonly Column<Grant>[] = [
  { name: 'Source', cell: ({ source }) => source.replaceAll('_', ' ') },
  { name: 'Left', isNumber: true, cell: ({ amount }) => shownDecimal(amount) },
  { name: 'Ends (UTC)', cell: ({ expires_at: end }) => (end === null ? 'never' : <Time of={end} />) },
]

function AccountCards() {
  const account = useResource(credential.value?.token ?? '', async (signal) => ({
    found: await read('/v1/account', undefined, { signal }),
    readAt: new Date().toISOString(),
  }))
  return (
    <Await of={account} what="the account">
      {({ found, readAt }) => (
        <>
          <Card title="Balance" aside={<code class="muted">{found.id}</code>}>
            <dl class="figures">
              <Figure name="Coin">{shownDecimal(found.balance.coin)}</Figure>
              <Figure name="Credits">{shownDecimal(found.balance.credits)}</Figure>
              {found.available !== null && (
                <>
                  <Figure name="Coin that is not held">{shownDecimal(found.available.coin)}</Figure>
                  <Figure name="Credits that are not held">{shownDecimal(found.available.credits)}</Figure>
                </>
              )}
            </dl>
            <Source of="the book, GET /v1/account" until={readAt} />
          </Card>
          <Card title="Credit grants">
            {found.credits.length === 0 ? (
              <Empty title="No credits are left" />
            ) : (
              <Table caption="Credit grants" columns={grantColumns} rows={found.credits} keyOf={({ id }) => id} />
            )}
          </Card>
          <Card title="Statements">
            <StatementPicker months={monthsSince(found.created_at)} load={loadStatement} />
          </Card>
        </>
      )}
    </Await>
  )
}

/** The months of an account, the newest first. */
function monthsSince(madeAt: string): string[] {
  return monthsBetween(madeAt.slice(0, 10), new Date().toISOString().slice(0, 10)).slice(-MONTHS_SHOWN).reverse()
}

async function loadStatement(month: string): Promise<string> {
  const response = await send(`/v1/statements/${month}.csv`, { headers: withCredential() })
  return response.text()
}

const depositColumns: readonly Column<Deposit>[] = [
  { name: 'Time (UTC)', cell: ({ created_at: time }) => <Time of={time} /> },
  { name: 'State', cell: ({ status }) => <Badge state={status} /> },
  { name: 'Asset', cell: ({ asset }) => asset },
  { name: 'Amount (USD)', isNumber: true, cell: ({ amount }) => shownDecimal(amount.usd) },
  { name: 'Wallet', cell: ({ wallet }) => <code class="address">{wallet}</code> },
]

function Deposits() {
  const pages = usePages()
  const who = credential.value?.token ?? ''
  const list = useResource(`${who} ${pages.after}`, async (signal) => {
    const query = { limit: PAGE, ...(pages.after !== '' && { after: pages.after }) }
    return { page: await read('/v1/account/deposits', query, { signal }), readAt: new Date().toISOString() }
  })
  return (
    <div>
      <Card title="Deposits">
        <Await of={list} what="deposits">
          {({ page: { data, has_more: hasMore }, readAt }) =>
            data.length === 0 ? (
              <Empty title="No deposit yet" />
            ) : (
              <div>
                <Table caption="Deposits" columns={depositColumns} rows={data} keyOf={({ id }) => id} />
                <Pager pages={pages} next={hasMore ? data.at(-1)?.id : undefined} />
                <Source of="the book, GET /v1/account/deposits" until={readAt} />
              </div>
            )
          }
        </Await>
      </Card>
    </div>
  )
}
