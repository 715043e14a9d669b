/** Stands for a room that needs Node, in a bundle for a runtime without it; `onNode` refuses to load it. */
export {};
