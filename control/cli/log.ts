import { generateNoteKey, NoteKey } from '../book/checkpoint/noteKey.ts'
import { type Arguments, argument, type CommandGroup, UsageError } from './command.ts'
import type { CliContext } from './context.ts'

const NAME = /^[\x21-\x2a\x2c-\x7e]{1,200}$/

async function key(args: Arguments, context: CliContext): Promise<undefined> {
  const name = argument(args, 'NAME')
  if (!NAME.test(name)) throw new UsageError('NAME must be ASCII text without spaces and plus signs')
  const secret = generateNoteKey(name)
  const verifier = NoteKey.of(secret).verifier()
  context.print({ key: secret, verifier }, `SLUICE_LOG_KEY=${secret}\nwhat signatures are checked with: ${verifier}`)
}

export const LOG: CommandGroup = {
  name: 'log',
  summary: 'the usage logs',
  commands: [
    {
      synopsis: 'key <NAME>',
      summary:
        'Generates a key that signs checkpoints as NAME, such as gateway.example.com/v1/log, and prints it; it is not stored.',
      run: key,
    },
  ],
}
