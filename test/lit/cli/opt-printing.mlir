// How the module is printed.

// RUN: cutecc opt %s | filecheck %s --check-prefix=PLAIN
// PLAIN:      func.func @f(%arg0: i32) {
// PLAIN-NEXT:   cf.br ^bb1(%arg0 : i32)
// PLAIN-NOT:  loc(

// RUN: cutecc opt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC
// GENERIC: "builtin.module"() ({
// GENERIC: "cf.br"(%arg0)[^bb1] : (i32) -> ()

// Places in the text go by the file's name, those that the text gives stay.
// RUN: cutecc opt %s --mlir-print-debuginfo | filecheck %s --check-prefix=LOC
// LOC-DAG: loc("{{.*}}opt-printing.mlir":[[# @LINE + 5]]:14)
// LOC-DAG: loc("{{.*}}opt-printing.mlir":[[# @LINE + 5]]:3)
// LOC-DAG: loc("{{.*}}opt-printing.mlir":[[# @LINE + 5]]:7)
// LOC-DAG: loc("kernel.py":3:4)
// LOC-NOT: loc("-"
func.func @f(%a: i32) {
  cf.br ^next(%a : i32)
^next(%b: i32):
  return loc("kernel.py":3:4)
}
