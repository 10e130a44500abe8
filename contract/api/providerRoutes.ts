import { DATA_POLICIES } from '../catalog/catalog.ts'
import { DIALECTS } from '../catalog/dialects.ts'
import type { ContractLimits } from '../limits/limits.ts'
import { flag, pageAfter, pageLimit, text } from './fields.ts'
import { type ApiRoute, members } from './route.ts'

/** Endpoints of models that customers run themselves. */
export const providerRoutes = (limits: ContractLimits) =>
  ({
    list_providers: {
      method: 'GET',
      path: '/v1/providers',
      auth: 'open',
      summary: 'Registered providers, newest first, each with its record of serving',
      query: members({ limit: pageLimit(limits.listPageMax), after: pageAfter('prov') }),
    },
    register_provider: {
      method: 'POST',
      path: '/v1/providers',
      auth: 'session',
      summary: 'Register an endpoint, which is checked first; registering the same address again updates it',
      body: members(
        {
          name: text('a text of 1 to 100 characters', 100, { minLength: 1 }),
          base_url: text('the address that paths such as /models and /chat/completions are added to', 1_024),
          dialect: {
            type: 'string',
            enum: DIALECTS,
            description: `${DIALECTS.join(' or ')}: the format that the endpoint speaks`,
          },
          api_key: {
            type: 'string',
            pattern: '^[\\x21-\\x7e]{1,1024}$',
            description:
              'a key for the check, at most 1,024 printable characters; it is kept only for an endpoint that is offered',
          },
          data_policy: {
            type: 'string',
            enum: DATA_POLICIES,
            description: 'none, or retained: whether the endpoint keeps its requests',
          },
          offered: flag('offers the endpoint for serving requests of others, for pay; api_key is then kept'),
        },
        ['name', 'base_url'],
      ),
    },
    get_own_providers: {
      method: 'GET',
      path: '/v1/account/providers',
      auth: 'session',
      summary: "Admissions, measurements and earnings of the account's providers",
    },
    remove_provider: {
      method: 'DELETE',
      path: '/v1/providers/{id}',
      auth: 'session',
      summary: 'Remove an endpoint from the list',
    },
  }) as const satisfies Record<string, ApiRoute>
