import { tryProvider } from '../catalog/trial/tryProvider.ts'
import { callHttp } from '../runtime/net/httpCall.ts'
import { withCatalog } from './catalogOf.ts'
import { type Arguments, argument, type Command, UsageError } from './command.ts'
import type { CliContext } from './context.ts'

async function tryOne(args: Arguments, context: CliContext): Promise<number | undefined> {
  const id = argument(args, 'PROVIDER')
  return withCatalog(args, context, async ({ providers, models }) => {
    const provider = providers.find((one) => one.id === id)
    if (provider === undefined) {
      throw new UsageError(`the catalog has no provider "${id}"; it has: ${providers.map((one) => one.id).join(', ')}`)
    }
    const chat = models.filter(({ modality }) => modality === 'chat').flatMap(({ routes }) => routes)
    const names = chat.filter((route) => route.provider === id).map(({ model }) => model)
    const { limits } = context
    const trials = await tryProvider(provider, { models: names, environment: process.env, call: callHttp, limits })
    const ok = trials.every(({ steps }) => steps.every((step) => step.ok))
    const lines = trials.flatMap(({ key, steps }) =>
      steps.map((step) => `${step.ok ? 'ok   ' : 'wrong'} ${id}${key === '' ? '' : `/${key}`}: ${step.text}`),
    )
    context.print({ ok, provider: id, trials }, lines.join('\n'))
    return ok ? 0 : 1
  })
}

export const TRY: Command = {
  synopsis: 'try <PROVIDER> [FILE]',
  summary:
    'Asks a provider of the catalog with each of its keys for its models and one short answer, and says what is wrong.',
  run: tryOne,
}
