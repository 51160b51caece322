// Has no interface: a program that is linked with it has no data of ICU's.
