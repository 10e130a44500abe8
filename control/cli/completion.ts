import { Argument, type Command as Program } from 'commander'
import { explainErrors } from './program.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const

/**
 * Adds the command that prints a script by which a shell completes all commands and options of `program`.
 * @param write takes the script
 */
export function addCompletion(program: Program, write: (text: string) => void): void {
  const node = program.command('completion')
  explainErrors(node)
  node
    .summary('print a script by which a shell completes commands')
    .description('Prints a shell completion script for commands and options: source <(sluice completion bash).')
    .addArgument(new Argument('<SHELL>', SHELLS.join(', ')).choices(SHELLS))
    .usage('SHELL')
    .action((shell: (typeof SHELLS)[number]) => {
      write(shell === 'fish' ? fishScript(program) : bashScript(program, shell))
    })
}

/** The words that may follow a command. */
interface Place {
  /** Such as "sluice account create". */
  readonly path: string
  readonly node: Program
  readonly words: readonly string[]
}

function placesOf(node: Program, path: string): Place[] {
  const names = node.commands.map((command) => command.name())
  const words = names.concat(node.options.map((option) => option.long ?? ''))
  const below = node.commands.flatMap((command) => placesOf(command, `${path} ${command.name()}`))
  return [{ path, node, words } as Place].concat(below)
}

/** A command with subcommands is only followed by one of these; any other by its arguments and options. */
const isLeaf = ({ node }: Place): boolean => node.commands.length === 0

function bashScript(program: Program, shell: 'bash' | 'zsh'): string {
  const cases = placesOf(program, 'sluice').map((place) => {
    const pattern = isLeaf(place) ? `"${place.path}" | "${place.path} "*` : `"${place.path}"`
    return `    ${pattern}) words="${place.words.join(' ')}" ;;`
  })
  // zsh takes the script of bash by its own loader.
  const head = shell === 'zsh' ? 'autoload -U +X bashcompinit && bashcompinit\n' : ''
  return `${head}_sluice() {
  local path=sluice word words=
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] || path="$path $word"
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _sluice sluice
`
}

function fishScript(program: Program): string {
  const quoted = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`
  const lines = placesOf(program, 'sluice').flatMap((place) => {
    const head = `complete -c sluice -n ${quoted(`__sluice_at "${place.path}${isLeaf(place) ? '*' : ''}"`)}`
    const commands = place.node.commands.map(
      (command) => `${head} -a ${command.name()} -d ${quoted(command.summary())}`,
    )
    const options = place.node.options.map(({ long, required, description }) => {
      return `${head} -l ${long?.slice(2) ?? ''}${required ? ' -r' : ''} -d ${quoted(description)}`
    })
    return commands.concat(options)
  })
  return `function __sluice_at
  set -l words (commandline -opc | string match -v -- '-*')
  string match -q -- $argv[1] (string join ' ' $words)
end
complete -c sluice -f
${lines.join('\n')}
`
}
