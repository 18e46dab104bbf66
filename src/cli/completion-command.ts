// `paygate completion bash|zsh|fish`: prints a script that completes commands, options and choices
// in a shell. The script is made from the commands themselves.

import { Argument, Command, type Option } from 'commander';
import { options } from '../config.ts';
import { type CompletedCommand, type CompletedOption, scripts } from './completion-scripts.ts';

type Shell = keyof typeof scripts;

const about = `
To complete in this shell:

  bash  source <(paygate completion bash)
  zsh   source <(paygate completion zsh)
  fish  paygate completion fish | source

For every shell, write the script to a file that the shell loads:

  bash  ~/.local/share/bash-completion/completions/paygate
  zsh   a file _paygate in a folder of $fpath
  fish  ~/.config/fish/completions/paygate.fish`;

export function completionCommand(): Command {
  const shells = Object.keys(scripts);
  return new Command('completion')
    .description('print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .addHelpText('after', about)
    .action((shell: Shell, _, command: Command) => {
      const { parent } = command;
      if (parent !== null) process.stdout.write(scripts[shell](completedIn(parent, '')));
    });
}

/** A command and those below it, as a shell completes them. */
function completedIn(command: Command, path: string): CompletedCommand[] {
  const help = command.createHelp();
  const below = help
    .visibleCommands(command)
    .filter((each) => path === '' || each.name() !== 'help');
  const [argument] = command.registeredArguments;
  const own = {
    path,
    commands: below.map((each) => ({
      names: [each.name(), ...each.aliases()],
      text: each.description(),
    })),
    options: help.visibleOptions(command).map(completedOption),
    argument: argument && {
      choices: argument.argChoices ?? [],
      isFile: argument.name() === 'file',
    },
  };
  const inner = command.commands
    .filter((each) => below.includes(each))
    .flatMap((each) => completedIn(each, `${path} ${each.name()}`.trim()));
  return [own, ...inner];
}

function completedOption(option: Option): CompletedOption {
  const { long, short, flags, description } = option;
  const [, value] = /[<[](.*)[>\]]$/.exec(flags) ?? [];
  const isFile = value === 'file' || value === 'folder';
  return {
    names: [long, short].filter((name) => name !== undefined),
    text: description.replace(/ \(env: .*$/, ''),
    value: value === undefined ? undefined : { choices: choicesOf(option), isFile },
  };
}

/** The values that an option accepts; empty if they are too many to be listed. */
function choicesOf({ argChoices, long }: Option): readonly string[] {
  const ofServe = Object.values(options).find(({ flag }) => flag === long)?.choices;
  return argChoices ?? ofServe ?? [];
}
