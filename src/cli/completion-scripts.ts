// Completion scripts of bash, zsh and fish. Each finds the command that the typed words name, then
// offers values of the option before the cursor, or subcommands, or options.

/** What can be typed in one place. */
export interface CompletedValue {
  /** Empty if they are not listed. */
  readonly choices: readonly string[];
  readonly isFile: boolean;
}

export interface CompletedOption {
  /** `--output`, `-o` */
  readonly names: readonly string[];
  readonly text: string;
  /** Undefined for an option without a value. */
  readonly value: CompletedValue | undefined;
}

export interface CompletedCommand {
  /** `store add`; empty for the program. */
  readonly path: string;
  readonly commands: readonly { readonly names: readonly string[]; readonly text: string }[];
  readonly options: readonly CompletedOption[];
  readonly argument: CompletedValue | undefined;
}

type Script = (commands: readonly CompletedCommand[]) => string;

/** One word for bash and zsh. */
const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
const quoteForFish = (text: string): string => `'${text.replaceAll(/['\\]/g, '\\$&')}'`;
const lines = (texts: readonly string[]): string => texts.join('\n');
const listed = (texts: readonly string[]): string => texts.map(quote).join(' ');

/** The step from a command to a subcommand, by each of its names. */
function steps(commands: readonly CompletedCommand[]): { typed: string[]; path: string }[] {
  return commands.flatMap(({ path, commands: below }) =>
    below
      .filter(({ names }) => !names.includes('help'))
      .map(({ names: [name = '', ...aliases] }) => ({
        typed: [name, ...aliases].map((each) => `${path} ${each}`.trim()),
        path: `${path} ${name}`.trim(),
      })),
  );
}

/** The options with a value: what is typed before it, and what the value can be. */
function valued(
  commands: readonly CompletedCommand[],
): { typed: string[]; value: CompletedValue }[] {
  return commands.flatMap(({ path, options }) =>
    options.flatMap(({ names, value }) =>
      value === undefined ? [] : [{ typed: names.map((name) => `${path} ${name}`), value }],
    ),
  );
}

const bash: Script = (commands) => `# Completion of paygate in bash.
_paygate() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} at= word i
  local commands= options= files=
  # Bash splits --name=value into three words.
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case "\${at:+$at }$word" in
${lines(steps(commands).map(({ typed, path }) => `      ${typed.map(quote).join('|')}) at=${quote(path)} ;;`))}
    esac
  done
  COMPREPLY=()
  case "$at $prev" in
${lines(
  valued(commands).map(({ typed, value }) => {
    const words = value.isFile
      ? '_paygate_files'
      : `_paygate_words ${quote(value.choices.join(' '))}`;
    return `    ${typed.map(quote).join('|')}) ${words}; return ;;`;
  }),
)}
  esac
  case $at in
${lines(
  commands.map(({ path, commands: below, options, argument }) => {
    const words = [
      ...below.flatMap(({ names }) => names.slice(0, 1)),
      ...(argument?.choices ?? []),
    ];
    const flags = options.flatMap(({ names }) => names);
    const files = argument?.isFile ? ' files=1' : '';
    return `    ${quote(path)}) commands=${quote(words.join(' '))} options=${quote(flags.join(' '))}${files} ;;`;
  }),
)}
  esac
  if [[ $cur == -* ]]; then _paygate_words "$options"
  elif [[ $files ]]; then _paygate_files
  else _paygate_words "\${commands:-$options}"
  fi
}
_paygate_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }
_paygate_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}
complete -F _paygate paygate ./paygate
`;

const zsh: Script = (commands) => `#compdef paygate
# Completion of paygate in zsh.
_paygate() {
  local at= word previous=$words[CURRENT-1]
  local -a commands options
  local files=
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${at:+$at }$word" in
${lines(steps(commands).map(({ typed, path }) => `      ${typed.map((each) => `(${quote(each)})`).join('|')}) at=${quote(path)} ;;`))}
    esac
  done
  if [[ $PREFIX == --*=* ]]; then
    previous=\${PREFIX%%=*}
    compset -P '*='
  fi
  case "$at $previous" in
${lines(
  valued(commands).map(({ typed, value }) => {
    const words = value.isFile
      ? '_files'
      : value.choices.length > 0
        ? `compadd -- ${listed(value.choices)}`
        : '_message value';
    return `    ${typed.map(quote).join('|')}) ${words}; return ;;`;
  }),
)}
  esac
  case $at in
${lines(
  commands.map(({ path, commands: below, options, argument }) => {
    const words = [
      ...below.map(({ names: [name], text }) => `${name}:${text}`),
      ...(argument?.choices ?? []),
    ];
    const flags = options.flatMap(({ names, text }) => names.map((name) => `${name}:${text}`));
    const files = argument?.isFile ? ' files=1' : '';
    return `    ${quote(path)}) commands=(${listed(words)}) options=(${listed(flags)})${files} ;;`;
  }),
)}
  esac
  if [[ $PREFIX == -* ]]; then _describe -o option options
  elif [[ -n $files ]]; then _files
  elif (( $#commands )); then _describe command commands
  else _describe -o option options
  fi
}
if [[ $funcstack[1] == _paygate ]]; then _paygate "$@"; else compdef _paygate paygate; fi
`;

const fish: Script = (commands) => `# Completion of paygate in fish.
function __paygate_at
    set -l at
    for word in (commandline -opc)[2..]
        switch (string trim "$at $word")
${lines(
  steps(commands).map(
    ({ typed, path }) =>
      `            case ${typed.map(quoteForFish).join(' ')}\n                set at ${quoteForFish(path)}`,
  ),
)}
        end
    end
    test "$at" = "$argv"
end
complete -c paygate -f
${lines(commands.flatMap(fishLines))}
`;

function fishLines({ path, commands, options, argument }: CompletedCommand): string[] {
  const here = `complete -c paygate -n ${quoteForFish(`__paygate_at ${quoteForFish(path)}`)}`;
  return [
    ...commands.map(
      ({ names: [name = ''], text }) => `${here} -a ${quoteForFish(name)} -d ${quoteForFish(text)}`,
    ),
    ...(argument === undefined ? [] : [`${here}${fishValue(argument)}`]),
    ...options.map(({ names, text, value }) => {
      const flags = names.map((name) =>
        name.startsWith('--') ? ` -l ${name.slice(2)}` : ` -s ${name.slice(1)}`,
      );
      const values =
        value === undefined ? '' : `${value.isFile ? ' -r' : ' -x'}${fishValue(value)}`;
      return `${here}${flags.join('')}${values} -d ${quoteForFish(text)}`;
    }),
  ];
}

const fishValue = ({ choices, isFile }: CompletedValue): string =>
  isFile ? ' -F' : choices.length > 0 ? ` -a ${quoteForFish(choices.join(' '))}` : '';

export const scripts = { bash, zsh, fish } satisfies Readonly<Record<string, Script>>;
