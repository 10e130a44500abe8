import { DATA_POLICIES } from '../../contract/catalog/catalog.ts'
import { DIALECTS, USUAL_DIALECT } from '../../contract/catalog/dialects.ts'
import { providerJson } from '../products/marketplace/providers/providerHandlers.ts'
import { removeProvider } from '../products/marketplace/providers/providers.ts'
import { OPERATOR } from '../runtime/activity/activity.ts'
import { withTransaction } from '../runtime/db/pool.ts'
import { type Arguments, argument, type CommandGroup, flag, isSet, UsageError } from './command.ts'
import { type CliContext, CommandError } from './context.ts'
import { knownAccount } from './knownAccount.ts'
import { LIST_FLAGS, type ListJson, operate, pageOf, printList } from './operate.ts'
import { ADMISSION_COMMANDS } from './providerAdmission.ts'
import { listKeys } from './providerKeys.ts'
import { facts } from './table.ts'

type ProviderJson = ReturnType<typeof providerJson>

function print(context: CliContext, provider: ProviderJson): undefined {
  const text = facts([
    ['provider', provider.id],
    ['name', provider.name],
    ['address', provider.base_url],
    ['dialect', provider.dialect],
    ['data policy', provider.data_policy],
    ['models', provider.models.join(', ')],
    ['offered', provider.offered ? 'yes' : 'no'],
    ['checked', provider.checked_at],
  ])
  context.print(provider, text)
}

async function list(args: Arguments, context: CliContext): Promise<undefined> {
  const query = pageOf(args)
  const providers = await operate<ListJson<ProviderJson>>(context, 'list_providers', { accountId: '', query })
  return printList(
    context,
    providers,
    ['PROVIDER', 'NAME', 'ADDRESS', 'DIALECT', 'MODELS', 'SERVING', 'CHECKED'],
    (provider) => {
      const { id, name, base_url, dialect, models, offered, serving, checked_at } = provider
      const states = serving.map(
        ({ model, state, reason }) => `${model}: ${state}${reason === null ? '' : ` (${reason})`}`,
      )
      const shown = states.join(', ') || (offered ? 'offered' : 'not offered')
      return [id, name, base_url, dialect, String(models.length), shown, checked_at]
    },
  )
}

/** A key is read from the environment, so that no process list shows it. */
function keyOf(args: Arguments): string | undefined {
  const name = flag(args, 'key-env')
  if (name === undefined) return undefined
  const key = process.env[name]
  if (key) return key
  throw new CommandError(`${name} is not set; set it to the key of the endpoint`)
}

async function register(args: Arguments, context: CliContext): Promise<undefined> {
  const accountId = await knownAccount(args, context)
  const [name, dialect, dataPolicy] = ['name', 'dialect', 'data-policy'].map((flagName) => flag(args, flagName))
  if (name === undefined) throw new UsageError('say how it is called: --name TEXT')
  const apiKey = keyOf(args)
  const body = {
    name,
    base_url: argument(args, 'URL'),
    ...(dialect !== undefined && { dialect }),
    ...(dataPolicy !== undefined && { data_policy: dataPolicy }),
    ...(apiKey !== undefined && { api_key: apiKey }),
    ...(isSet(args, 'offered') && { offered: true }),
  }
  return print(context, await operate<ProviderJson>(context, 'register_provider', { accountId, body }))
}

async function remove(args: Arguments, context: CliContext): Promise<undefined> {
  const id = argument(args, 'ID')
  const pool = await context.pool()
  const removed = await withTransaction(pool, (client) => removeProvider(client, OPERATOR, id, undefined))
  context.print({ ...providerJson(removed, []), removed: true }, `${id} (${removed.baseUrl}) is off the list`)
}

export const PROVIDER: CommandGroup = {
  name: 'provider',
  summary: 'endpoints that accounts have registered, their models, and the keys of the catalog',
  commands: [
    { synopsis: 'list', summary: 'Lists the registered endpoints, newest first.', flags: LIST_FLAGS, run: list },
    {
      synopsis: 'register <ACCOUNT> <URL>',
      summary: 'Checks an endpoint and registers it for an account.',
      flags: {
        name: { value: 'TEXT', help: 'its name' },
        dialect: { value: 'DIALECT', help: `${DIALECTS.join(' or ')} (${USUAL_DIALECT})` },
        'data-policy': { value: 'POLICY', help: `${DATA_POLICIES.join(' or ')} (retained)` },
        'key-env': { value: 'NAME', help: 'environment variable with an API key for the check' },
        offered: { help: 'its owner offers it for serving; the key is kept' },
      },
      run: register,
    },
    {
      synopsis: 'keys [PROVIDER]',
      summary:
        "Lists the API keys of the catalog's providers: where they are, their shares, their cache hit rates, and which the proxies keep out.",
      run: listKeys,
    },
    ...ADMISSION_COMMANDS,
    { synopsis: 'remove <ID>', summary: 'Removes an endpoint from the list and from service.', run: remove },
  ],
}
