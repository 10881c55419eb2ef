// Grants one of the requests, in turn: nobody waits for more than N - 1 others.
module round_robin #(
    parameter int N = 4
) (
    input logic clk,
    input logic rst,
    input logic enable,
    input logic [N-1:0] request,
    output logic [N-1:0] grant
);
  logic [N-1:0] allowed;  // requests behind the last one that was granted
  logic [N-1:0] behind, first;

  assign behind = request & allowed;
  assign first = behind != 0 ? behind : request;
  assign grant = enable ? first & (~first + 1'b1) : '0;

  always_ff @(posedge clk) begin
    if (rst) allowed <= '1;
    else if (grant != 0) allowed <= ~(grant | (grant - 1'b1));
  end

`ifdef FORMAL
  `include "round_robin_props.svh"
`endif
endmodule
