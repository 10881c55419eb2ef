// Ports of a module that words of WIDTH bits go through. A word moves where `valid` and `ready` are both high.
input logic clk,
input logic rst,
input logic in_valid,
output logic in_ready,
input logic [WIDTH-1:0] in_data,
output logic out_valid,
input logic out_ready,
output logic [WIDTH-1:0] out_data
