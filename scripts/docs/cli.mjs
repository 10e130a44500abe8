import { COMMANDS } from '../../dist/control/cli/main.js'
import { buildProgram } from '../../dist/control/cli/program.js'
import { page } from './markdown.mjs'

const WIDTH = 100

function help(node) {
  node.configureHelp({ ...node.configureHelp(), helpWidth: WIDTH })
  return `\`\`\`text\n${node.helpInformation().trim()}\n\`\`\``
}

function pathOf(node) {
  return node.parent === null ? node.name() : `${pathOf(node.parent)} ${node.name()}`
}

function sections(node, level) {
  const inner = node.commands.filter(({ name }) => name.call(node) !== 'help')
  return inner.flatMap((child) => [
    `${level} ${pathOf(child)}`,
    help(child),
    ...(child.commands.length === 0 ? [] : sections(child, `${level}#`)),
  ])
}

/** docs/reference/cli.md: the help of every command of the operator's command line. */
export function cliPage() {
  const program = buildProgram(COMMANDS, async () => {})
  return page('Command line', 'the help of each command in `control/cli/`', [
    "The operator's command line works on the database and the Redis of `DATABASE_URL` and `REDIS_URL`, or else of the running `make run`. With `--json` a command prints JSON for programs. The exit status is 0; 1 where the command failed; 2 where the call does not fit.",
    '```sh\nnpm run -s sluice -- account create --credits 10 --json\n```',
    help(program),
    ...sections(program, '##'),
  ])
}
