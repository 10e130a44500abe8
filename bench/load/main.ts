import { runLoad } from './closedLoop.ts'
import type { LoadOptions, LoadResult } from './options.ts'

/** The answer of the load process over IPC to each set of options. */
export type LoadReply = { readonly result: LoadResult } | { readonly error: string }

// As a child process it runs the options that it receives; from a shell it takes them as one JSON argument.
if (process.send !== undefined) {
  process.on('message', (options: LoadOptions) => {
    runLoad(options).then(
      (result) => reply({ result }),
      (error: unknown) => reply({ error: error instanceof Error ? error.message : String(error) }),
    )
  })
  process.on('disconnect', () => process.exit(0))
  process.on('SIGTERM', () => process.exit(0))
  process.send({ ready: {} })
} else {
  const result = await runLoad(JSON.parse(process.argv[2] ?? '{}') as LoadOptions)
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`)
}

function reply(message: LoadReply): void {
  process.send?.(message)
}
