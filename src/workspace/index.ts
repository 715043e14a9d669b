/** `pawl/workspace`: tools for agents that work on the files of a directory. */

export { type FileToolsOptions, fileTools } from './file-tools.ts';
export { type ShellToolOptions, shellTool } from './shell-tool.ts';
