import type { ContractLimits } from '../limits/limits.ts'
import { flagOrNone, pageAfter, pageLimit, text, usd } from './fields.ts'
import { type ApiRoute, members } from './route.ts'

/** One of the groups among some others, separated by commas. */
const among = (one: string, others: string, most: number): string =>
  `((${others}),){0,${most}}(${one})(,(${others})){0,${most}}`

/** Some of the groups of sums by day, or one of tag and user beside periods, or provider and outcome beside days and models. */
const groups = (owner: string, outcomes: string, hours: string): RegExp => {
  const byDay = `${BY_DAY}|${owner}`
  const besideTags = owner === 'account' ? `${PERIOD}|account` : PERIOD
  const besideOutcomes = `day|month|model|${owner}|${outcomes}`
  return new RegExp(
    `^((${byDay})(,(${byDay})){0,6}|${among('tag|user', besideTags, 2)}|${among(outcomes, besideOutcomes, 5)}${hours})$`,
  )
}

const BY_DAY = 'day|month|model|key|platform_key'
const PERIOD = 'hour|day|month'

/** The groups of the usage of an account. Which provider served is the operator's matter. */
export const ACCOUNT_USAGE_GROUPS: RegExp = groups('agent', 'outcome', '')
/** The groups of the usage of all accounts; by hour without the account, as its sums are. */
export const ALL_USAGE_GROUPS: RegExp = groups(
  'account',
  'provider|outcome',
  `|${among('hour', 'day|month|model|provider|outcome', 5)}`,
)

const STATEMENT_QUERY = members({
  tag: text('a tag such as team=search, percent-encoded as in x-sluice-tags', 4_096),
  user: text('a user as requests have named it', 4_096),
})

const DAY = { type: 'string', format: 'day' }

/** The query for the usage of an account. */
export const usageQuery = (limits: ContractLimits) => ({
  from: { ...DAY, description: 'the first day, such as 2027-01-01 (UTC)' },
  to: { ...DAY, description: `the last day, such as 2027-01-31 (UTC), at most ${limits.usageDaysMax} days on` },
  group_by: {
    type: 'string',
    pattern: '^(day|model|key)(,(day|model|key)){0,2}$',
    description: 'some of day, model and key, separated by commas',
  },
  model: text('a model id', 256),
  key: { type: 'string', pattern: '^key_[0-9A-Z]{26}$', description: 'the id of a key (key_...)' },
  limit: pageLimit(limits.usagePageMax),
  after: text('next of the page before', 1_024),
})

/** Reads and settings of the account itself. */
export const accountRoutes = (limits: ContractLimits) =>
  ({
    get_account: {
      method: 'GET',
      path: '/v1/account',
      auth: 'session',
      summary: 'Balances and credit grants',
    },
    update_account: {
      method: 'PATCH',
      path: '/v1/account',
      auth: 'session',
      summary: 'Change the name or the defaults of the account',
      body: {
        ...members({
          name: text('a text of at most 200 characters', 200),
          allow_retention: flagOrNone(
            'whether providers and tools that keep data may serve requests where neither they nor their key say so',
          ),
          transfer_cap_day: usd('the most that API keys may pay to agents of other accounts in a day (UTC)'),
        }),
        minProperties: 1,
      },
    },
    list_activity: {
      method: 'GET',
      path: '/v1/account/activity',
      auth: 'session',
      summary: 'List every change to the account, newest first',
      query: members({ limit: pageLimit(limits.listPageMax), after: pageAfter('evt') }),
    },
    get_usage: {
      method: 'GET',
      path: '/v1/account/usage',
      auth: 'session',
      summary: 'Requests, tokens and costs by day, month, model, key and agent, or by outcome, tag or user',
      query: members({
        ...usageQuery(limits),
        group_by: {
          type: 'string',
          pattern: ACCOUNT_USAGE_GROUPS.source,
          description:
            'some of day, month, model, key, platform_key and agent, separated by commas; agent adds the usage of agents; or outcome beside day, month, model or agent; or tag or user beside hour, day or month',
        },
      }),
    },
    get_own_usage: {
      method: 'GET',
      path: '/v1/usage',
      auth: 'key_or_session',
      summary: 'Requests, tokens and costs of the key, or of the whole account, by day, month, model and key',
      query: members({
        ...usageQuery(limits),
        group_by: {
          type: 'string',
          pattern: '^(day|month|model|key)(,(day|month|model|key)){0,3}$',
          description: 'some of day, month, model and key, separated by commas',
        },
      }),
    },
    get_statement: {
      method: 'GET',
      path: '/v1/statements/{month}.csv',
      auth: 'session',
      summary: 'Every movement of money in a month, or the charges with a tag or of a user, as CSV',
      query: STATEMENT_QUERY,
    },
    get_statement_json: {
      method: 'GET',
      path: '/v1/statements/{month}.json',
      auth: 'session',
      summary: 'The same as JSON',
      query: STATEMENT_QUERY,
    },
    explain_request: {
      method: 'GET',
      path: '/v1/account/requests/{id}',
      auth: 'key_or_session',
      summary: 'Why a request was refused, with the figure of every check; of one that ran, its receipt',
    },
    list_receipts: {
      method: 'GET',
      path: '/v1/receipts',
      auth: 'key_or_session',
      summary: 'The latest receipts of the key, or of the whole account',
      query: members({ limit: pageLimit(limits.receiptsPageMax), after: pageAfter('req') }),
    },
  }) as const satisfies Record<string, ApiRoute>
