/** The version of the machines (D-6): a digest of their sources. Written by `npm run draw`. */
export const machinesVersion = 'e6b7373620fe';
