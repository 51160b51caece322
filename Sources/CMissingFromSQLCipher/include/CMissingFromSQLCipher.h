#ifndef CMISSINGFROMSQLCIPHER_H
#define CMISSINGFROMSQLCIPHER_H

// Nothing to call: this module's functions stand in for those that SQLCipher's library lacks.

#endif
