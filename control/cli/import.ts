import type { Draft } from '../catalog/import/draft.ts'
import { draftText, isComplete } from '../catalog/import/draftText.ts'
import { fromLitellm } from '../catalog/import/litellm.ts'
import { ModelPrices } from '../catalog/import/modelPrices.ts'
import { fromNewApi } from '../catalog/import/newApi.ts'
import { fromPortkey } from '../catalog/import/portkey.ts'
import { readImported, secretsOf, writeKeys } from '../catalog/import/readImported.ts'
import { orProblems } from './catalogOf.ts'
import { type Arguments, argument, type Command, type CommandGroup, type Flag, flag, UsageError } from './command.ts'
import type { CliContext } from './context.ts'

type Importer = (file: unknown, prices: ModelPrices, args: Arguments) => Draft

const FLAGS: Readonly<Record<string, Flag>> = {
  prices: {
    value: 'FILE',
    help: "prices, contexts and output limits by model, such as LiteLLM's model_prices_and_context_window.json",
  },
  keys: { value: 'FILE', help: 'writes the keys that the file has to this new file, as lines NAME=value' },
}

/** Runs an importer: the catalog goes to standard output, what it could not carry over to standard error. */
function runs(importer: Importer): Command['run'] {
  return async (args, context) => {
    const read = (path: string) => readImported(context.pathOf(path), context.limits)
    return orProblems(context, async () => {
      const pricesPath = flag(args, 'prices')
      const prices = new ModelPrices(pricesPath === undefined ? undefined : await read(pricesPath))
      return show(importer(await read(argument(args, 'FILE')), prices, args), args, context)
    })
  }
}

async function show(draft: Draft, args: Arguments, context: CliContext): Promise<number> {
  const keysPath = flag(args, 'keys')
  const secrets = secretsOf(draft)
  if (keysPath !== undefined) await writeKeys(context.pathOf(keysPath), draft)
  else if (secrets.length > 0) {
    const names = secrets.map(({ env }) => env).join(', ')
    draft.note('keys', `the file has keys, which no catalog has: set ${names}, or write them to a file with --keys`)
  }
  for (const model of draft.models.values()) {
    if (!isComplete(model))
      draft.note(`model ${model.id}`, 'its price, context or output limit is unknown; it is a comment')
  }
  const catalog = draftText(draft)
  const counts = { providers: draft.providers.size, models: draft.models.size }
  context.print({ ok: draft.models.size > 0, ...counts, catalog, notes: draft.notes }, catalog)
  for (const note of draft.notes) context.warn(`note: ${note}`)
  return draft.models.size > 0 ? 0 : 1
}

function modelArgument(args: Arguments): string {
  const model = flag(args, 'model')
  if (model === undefined) throw new UsageError('--model names the model whose routes the targets become')
  return model
}

export const IMPORT: CommandGroup = {
  name: 'import',
  summary: 'write a catalog from the configuration of another gateway',
  commands: [
    {
      synopsis: 'litellm <FILE>',
      summary:
        "Writes a catalog from a config.yaml of LiteLLM's proxy to standard output, and what was left out to standard error.",
      flags: FLAGS,
      run: runs(fromLitellm),
    },
    {
      synopsis: 'portkey <FILE>',
      summary: 'Writes a catalog from a gateway config of Portkey, whose targets become the routes of one model.',
      flags: { ...FLAGS, model: { value: 'ID', help: 'the model, as clients name it' } },
      run: runs((file, prices, args) => fromPortkey(file, prices, modelArgument(args))),
    },
    {
      synopsis: 'new-api <FILE>',
      summary: 'Writes a catalog from the channels of new-api or one-api, as GET /api/channel/ answers them.',
      flags: FLAGS,
      run: runs(fromNewApi),
    },
  ],
}
