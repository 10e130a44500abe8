import type { ComponentType } from 'preact'
import type { PageName } from '../router/match.ts'
import { credential } from '../state/session.ts'
import { Agents } from './agents.tsx'
import { Balance } from './balance.tsx'
import { Batches } from './batches.tsx'
import { Checkpoints } from './checkpoints.tsx'
import { Connect } from './connect.tsx'
import { Keys } from './keys.tsx'
import { Locks } from './locks.tsx'
import { Models } from './models.tsx'
import type { PageProps } from './pageProps.ts'
import { Playground } from './playground.tsx'
import { RequestPage } from './request.tsx'
import { Requests } from './requests.tsx'
import { Reserve } from './reserve.tsx'
import { SignIn } from './signIn.tsx'
import { Status } from './status.tsx'
import { Usage } from './usage.tsx'

interface PageEntry {
  readonly title: string
  readonly lead?: string
  readonly Page: ComponentType<PageProps>
}

/** Every page with its heading. */
export const PAGES_SHOWN: Readonly<Record<PageName, PageEntry>> = {
  playground: {
    title: 'Playground',
    lead: 'Try a model. The receipt says what was held and what the answer cost, and a proof binds it to the log.',
    Page: Playground,
  },
  usage: { title: 'Usage', lead: 'What was spent, on which model, by which key.', Page: Usage },
  requests: { title: 'Requests', lead: 'Receipts, the newest first.', Page: Requests },
  request: { title: 'Request', Page: RequestPage },
  keys: { title: 'Keys and caps', lead: 'API keys of the account, and what each may spend.', Page: Keys },
  balance: { title: 'Balance', lead: 'What the account has, and how it came.', Page: Balance },
  agents: {
    title: 'Agents and approvals',
    lead: 'Agents of the account with their coin and policy, and the requests that wait for you.',
    Page: Agents,
  },
  batches: { title: 'Batch jobs', lead: 'Requests that run later, at batch rates.', Page: Batches },
  connect: { title: 'Connect', lead: 'Settings of common clients for this gateway.', Page: Connect },
  models: {
    title: 'Models and prices',
    lead: 'Everything that this gateway sells, from the price sheet in force.',
    Page: Models,
  },
  locks: {
    title: 'Compute locks',
    lead: 'Prices that are fixed for a block of tokens of one model for a month.',
    Page: Locks,
  },
  status: { title: 'Status', lead: 'The state of the service, and its days.', Page: Status },
  reserve: { title: 'Reserve', lead: 'What the operator holds against what it owes to accounts.', Page: Reserve },
  checkpoints: {
    title: 'Checkpoints',
    lead: 'Signed states of the usage log. Keep the verifier key from when you first came.',
    Page: Checkpoints,
  },
  signIn: { title: 'Sign in', Page: SignIn },
}

/** The page at the root: what somebody who is signed in does first, else what is sold. */
export function startPage(): PageName {
  return credential.value === undefined ? 'models' : 'playground'
}
